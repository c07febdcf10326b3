// A page of a shop calls with a client secret, by the client library that it loads from the server. Returns what it saw.
// URL SECRET SHOP_ORIGIN OTHER_ORIGIN
export default async function clientSecret(browser, url, secret, shop, other) {
  const open = (origin) => browser.open(`${origin}/#${encodeURIComponent(JSON.stringify({ url, key: secret }))}`);

  const event = (page, type) => page.waitForFunction((wanted) => globalThis.events.find((each) => each.type === wanted), type)
    .then((found) => found.jsonValue());
  const inState = (page, state) => page.waitForFunction((wanted) => document.body.dataset.state === wanted, state);

  const page = await open(shop);
  await inState(page, 'idle');
  await page.evaluate(() => agent.connect());
  const created = await event(page, 'session.created');
  await page.evaluate(() => agent.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Sell hats.' } }));
  const refused = await event(page, 'error');
  const updated = await event(page, 'session.updated');
  await page.evaluate(() => agent.hangUp());
  await inState(page, 'idle');
  const again = await page.evaluate(() => agent.connect().then(() => 'connected', (problem) => problem.message));

  const stranger = await open(other);
  const fetched = await stranger.evaluate(([server, key]) => fetch(`${server}/v1/realtime/calls`, {
    method: 'POST', body: 'v=0', headers: { 'Content-Type': 'application/sdp', Authorization: `Bearer ${key}` },
  }).then((response) => response.status, () => 'blocked'), [url, secret]);

  while (!browser.errors.length) await stranger.waitForEvent('pageerror');
  const [unloaded] = browser.errors.splice(0); // the stranger may not even load the library

  return {
    instructions: created.session.instructions, still: updated.session.instructions, error: refused.error, again, stranger: fetched, unloaded,
  };
}
