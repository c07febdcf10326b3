// The example's page with the call button, in Chromium: a spoken call by keyboard, each way in which a call fails, what axe finds, and
// what is loaded before a call. Prints what it saw as JSON. node widget.mjs SHOP SERVER OTHER_SHOP SERVER_PID MICROPHONE.wav FOLDER|-
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , shop, server, otherShop, serverPid, microphone, folder] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${microphone}`, '--allow-loopback-in-peer-connection', '--disable-features=LocalNetworkAccessChecks',
] });
const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 375, height: 720 }, hasTouch: true };
const seen = { violations: [], pageErrors: [], told: {}, loaded: {} };

async function open(url, look = DESKTOP, permissions = ['microphone']) {
  const page = await (await browser.newContext({ permissions, ...look })).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => seen.pageErrors.push(error.message));
  page.on('console', (line) => line.text().includes('Content Security Policy') && seen.pageErrors.push(line.text()));
  await page.goto(url);
  return page;
}

const state = (page, wanted) => page.waitForFunction((value) => document.querySelector('voiceagent-call').dataset.state === value, wanted);
const ended = (page, code) => page.waitForFunction((value) => document.querySelector('voiceagent-call').dataset.code === value, code);
const told = (page) => page.locator('voiceagent-call .status').innerText();
const focused = (page) => page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.innerText ?? document.activeElement.tagName);

/** Look at the page as it is now, in both schemes. */
async function look(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, nodes } of found.violations) seen.violations.push({ name, colorScheme, id, nodes: nodes.map((node) => node.failureSummary) });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) seen.violations.push({ name, id: 'wider-than-the-window', nodes: [`${wide} px`] });
    if (folder !== '-') await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
  }
}

async function checked(url, look_, permissions) {
  const page = await open(url, look_, permissions);
  await page.context().newCDPSession(page).then((session) => session.send('Page.setBypassCSP', { enabled: true }));
  await page.reload();
  await page.addScriptTag({ path: AXE });
  return page;
}

try {
  // By keyboard, with the page's content security policy as it is.
  const caller = await open(shop);
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

  const refused = await checked(shop, PHONE, []);
  await refused.locator('voiceagent-call .call').click();
  await ended(refused, 'microphone_refused');
  seen.told.refused = await told(refused);
  await look(refused, 'phone-refused');

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

  const phone = await checked(shop, PHONE);
  await look(phone, 'phone-idle');
  const desktop = await checked(shop, DESKTOP);
  await look(desktop, 'desktop-idle');
  for (const [page, name] of [[desktop, 'desktop'], [phone, 'phone']]) {
    await page.locator('voiceagent-call .call').click();
    await state(page, 'live');
    await page.waitForFunction(() => document.querySelector('voiceagent-call').shadowRoot.querySelector('.said').textContent);
    await look(page, `${name}-live`);
  }
  process.kill(Number(serverPid), 'SIGKILL');
  await state(desktop, 'resuming');
  seen.told.resuming = await told(desktop);
  await look(desktop, 'desktop-resuming');
  await ended(desktop, 'lost');
  seen.told.lost = await told(desktop);
  await look(desktop, 'desktop-lost');
  await desktop.locator('voiceagent-call .call').click();
  await ended(desktop, 'server_unreachable');
  seen.told.gone = await told(desktop);
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
