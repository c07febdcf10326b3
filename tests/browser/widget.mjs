// The example's page with the call button: a spoken call by keyboard, each way in which a call fails, what axe finds, and what is loaded
// before a call. Returns what it saw. SHOP SERVER OTHER_SHOP SERVER_PID SIGSTOP|SIGKILL SPEECH.wav FOLDER|-: the signal by which the server
// is lost at the end
import { speak } from './browser.mjs';
import { DESKTOP, Looks, PHONE } from './looks.mjs';

export default async function widget(browser, shop, server, otherShop, serverPid, loss, speech, folder) {
  const looks = new Looks(browser, folder, { isShared: true });
  const seen = { told: {}, loaded: {} };
  const look = (page, name) => looks.at(page, `widget-${name}`);

  const open = (url, how = {}) => browser.open(url, {
    ...how,
    before: async (page) => page.on('console', (line) => line.text().includes('Content Security Policy') && browser.errors.push(line.text())),
  });
  const state = (page, wanted) => page.waitForFunction((value) => document.querySelector('voiceagent-call').dataset.state === value, wanted);
  const ended = (page, code) => page.waitForFunction((value) => document.querySelector('voiceagent-call').dataset.code === value, code);
  const told = (page) => page.locator('voiceagent-call .status').innerText();
  const focused = (page) => page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.innerText ?? document.activeElement.tagName);

  // By keyboard, with the page's content security policy as it is.
  const caller = await open(shop, { speaks: true });
  caller.on('response', async (response) => {
    if (!response.url().startsWith(server) || !/\.js$/.test(response.url())) return;
    seen.loaded[new URL(response.url()).pathname] = (await response.request().sizes()).responseBodySize;
  });
  await caller.reload();
  await caller.keyboard.press('Tab');
  seen.told.focused = await focused(caller);
  await caller.keyboard.press('Enter');
  await state(caller, 'live');
  seen.told.live = await told(caller);
  seen.told.focusedInCall = await focused(caller);
  await caller.waitForFunction(() => document.querySelector('voiceagent-call').shadowRoot.querySelector('.said').textContent);
  await speak(caller, speech);
  await caller.waitForFunction(() => /Paris/.test(document.querySelector('voiceagent-call').shadowRoot.querySelector('.said').textContent));
  seen.plays = await caller.evaluate(() => {
    const speaker = document.querySelector('voiceagent-call').shadowRoot.querySelector('audio');
    return !speaker.paused && speaker.srcObject.getAudioTracks().length > 0;
  });
  await caller.keyboard.press('Shift+Tab');
  await caller.keyboard.press('Space');
  seen.told.muted = [await focused(caller), await caller.locator('voiceagent-call .mute').getAttribute('aria-pressed')];
  await caller.keyboard.press('Tab');
  await caller.keyboard.press('Enter');
  await ended(caller, 'hangup');
  seen.told.hungUp = await told(caller);
  seen.told.focusedAfter = await focused(caller);
  await caller.keyboard.press('Escape');
  seen.told.dismissed = await told(caller);

  const wrong = await open(shop);
  await wrong.route('**/call-secret', (route) => route.fulfill({ json: { value: 'ek_of_nobody_0000000000000000000000' } }));
  await wrong.locator('voiceagent-call .call').click();
  await ended(wrong, 'invalid_api_key');
  seen.told.wrongSecret = await told(wrong);
  await wrong.unroute('**/call-secret');
  for (const [status, code] of [[403, 'secret'], [502, 'server_unreachable']]) {
    await wrong.route('**/call-secret', (route) => route.fulfill({ status, body: 'no' }));
    await wrong.locator('voiceagent-call .call').click();
    await ended(wrong, code);
    await wrong.unroute('**/call-secret');
  }
  for (const place of ['**/call-secret', '**/v1/realtime/calls']) {
    const asked = new Promise((resolve) => { wrong.route(place, resolve); });
    await wrong.locator('voiceagent-call .call').click();
    await asked;
    await wrong.locator('voiceagent-call .call').click();
    await ended(wrong, 'hangup');
    await wrong.unroute(place);
  }

  const refused = await open(shop, { axe: true, microphone: false, viewport: PHONE, hasTouch: true });
  await refused.locator('voiceagent-call .call').click();
  await ended(refused, 'microphone_refused');
  seen.told.refused = await told(refused);
  await look(refused, 'refused');

  const stranger = await open(otherShop);
  await stranger.locator('voiceagent-call .call').click();
  await ended(stranger, 'origin_not_allowed');
  seen.told.stranger = await told(stranger);

  const german = await open(shop);
  await german.route(shop, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('lang="en"', 'lang="de-AT"').replace(/ data-label="[^"]*"/, '') });
  });
  await german.reload();
  seen.told.german = await german.locator('voiceagent-call .call').innerText();

  const person = await open(shop, { axe: true, viewport: DESKTOP });
  await look(person, 'idle');
  await person.locator('voiceagent-call .call').click();
  await state(person, 'live');
  await person.waitForFunction(() => document.querySelector('voiceagent-call').shadowRoot.querySelector('.said').textContent);
  await look(person, 'live');
  process.kill(Number(serverPid), loss);
  await state(person, 'resuming');
  seen.told.resuming = await told(person);
  await look(person, 'resuming');
  await ended(person, 'lost');
  seen.told.lost = await told(person);
  await look(person, 'lost');
  if (loss === 'SIGSTOP') {
    process.kill(Number(serverPid), 'SIGCONT');
    return { ...seen, violations: looks.violations };
  }
  await person.locator('voiceagent-call .call').click();
  await ended(person, 'server_unreachable');
  seen.told.gone = await told(person);
  return { ...seen, violations: looks.violations };
}
