// A page of a shop calls with a client secret, by the client library that it loads from the server. Prints what it saw as JSON.
// node client-secret.mjs URL SECRET SHOP_ORIGIN OTHER_ORIGIN
import { chromium } from 'playwright-core';

const [, , url, secret, shop, other] = process.argv;
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection',
];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });

async function open(origin) {
  const context = await browser.newContext({ permissions: ['microphone'] });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${origin}/#${encodeURIComponent(JSON.stringify({ url, key: secret }))}`);
  return page;
}

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

await browser.close();
console.log(JSON.stringify({
  instructions: created.session.instructions, still: updated.session.instructions, error: refused.error, again, stranger: fetched,
}));
