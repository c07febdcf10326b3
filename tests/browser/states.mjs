// Drives the page in Chromium through its states, has axe look for what keeps people out in each, and prints what was found and
// what was shown as JSON. node states.mjs URL SERVER_PID GOOD_KEY SCREENSHOT_FOLDER|-
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , url, serverPid, goodKey, folder] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection',
];
const LOOKS = [
  { name: 'desktop-light', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 375, height: 720 }, colorScheme: 'dark' },
];
const seen = { violations: [], pageErrors: [], shown: {} };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });

async function open(look) {
  const context = await browser.newContext({ permissions: ['microphone'], ...look });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => seen.pageErrors.push(error.message));
  await page.addInitScript({ path: AXE });
  await page.goto(url);
  return page;
}

/** Look at the page as it is now, in both schemes. */
async function look(page, style, state) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, nodes } of found.violations) {
      seen.violations.push({ state, style, colorScheme, id, nodes: nodes.map((node) => `${node.target} ${node.failureSummary}`) });
    }
  }
  await page.emulateMedia({ colorScheme: style.includes('dark') ? 'dark' : 'light', reducedMotion: 'reduce' });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) seen.violations.push({ state, style, id: 'wider-than-the-window', nodes: [`${wide} px`] });
  const cut = await page.evaluate(() => [...document.querySelectorAll('.times th, .times td, .times span, .status span, .problem *')]
    .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1 && getComputedStyle(part).overflow !== 'visible')
    .map((part) => part.textContent));
  if (cut.length) seen.violations.push({ state, style, id: 'text-is-cut', nodes: cut });
  if (folder !== '-') await page.screenshot({ path: `${folder}/${style}-${state}.png` });
}

const state = (page, wanted) => page.waitForFunction((value) => document.body.dataset.state === value, wanted);
const problem = (page, code) => page.waitForFunction((wanted) => {
  const box = document.getElementById('problem');
  return !box.hidden && box.dataset.code === wanted;
}, code);

async function through(style) {
  const { name, ...options } = style;
  const page = await open(options);
  await look(page, name, 'idle');
  await page.click('#call');
  await problem(page, 'missing_api_key');
  seen.shown.missing = await page.innerText('#problem');
  await look(page, name, 'missing-key');
  await page.fill('#problem input', 'no-key-of-this-server');
  await page.keyboard.press('Enter');
  await problem(page, 'invalid_api_key');
  seen.shown.wrong = await page.innerText('#problem');
  await page.fill('#problem input', 'schlüssel “quoted”');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#problem input')?.value === '');
  await problem(page, 'invalid_api_key');
  await look(page, name, 'wrong-key');
  await page.route('**/v1/realtime/calls', async (route) => {
    await look(page, name, 'connecting');
    await route.continue();
  }, { times: 1 });
  await page.fill('#problem input', goodKey);
  await page.keyboard.press('Enter');
  await state(page, 'live');
  await page.waitForFunction(() => document.querySelector('.agent .heard')?.textContent);
  await look(page, name, 'in-call');
  await page.click('#mute');
  await look(page, name, 'muted');
  await page.fill('#message', 'What is the weather in Paris tomorrow?');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#turns [data-turn="1"]');
  seen.shown.turn = await page.innerText('#turns li');
  await look(page, name, 'turn');
  await page.evaluate(() => document.querySelector('.times').scrollIntoView());
  await look(page, name, 'times');
  await page.click('#call');
  await state(page, 'idle');
  seen.shown.muted = [await page.getAttribute('#mute', 'aria-pressed'), await page.innerText('#mute')];
  await look(page, name, 'ended');
  await page.click('#call');
  await state(page, 'live');
  seen.shown.mutedAgain = [await page.getAttribute('#mute', 'aria-pressed'), await page.innerText('#mute')];
  return page;
}

async function noticed(page, code, does) {
  const begun = page.evaluate((wanted) => new Promise((resolve) => {
    const box = document.getElementById('problem');
    const check = () => !box.hidden && box.dataset.code === wanted && resolve(performance.timeOrigin + performance.now());
    new MutationObserver(check).observe(box, { attributes: true });
  }), code);
  const atMs = Date.now();
  does();
  return (await begun) - atMs;
}

try {
  const pages = [];
  for (const style of LOOKS) pages.push([style, await through(style)]);
  const [[style, first], [, second]] = pages;
  seen.frozenMs = await noticed(first, 'quiet', () => process.kill(Number(serverPid), 'SIGSTOP'));
  seen.shown.quiet = await first.innerText('#problem');
  await look(first, style.name, 'quiet');
  process.kill(Number(serverPid), 'SIGCONT');
  await state(first, 'live');
  await first.waitForFunction(() => document.getElementById('problem').hidden);
  await state(second, 'live');
  seen.killedMs = await noticed(second, 'resuming', () => process.kill(Number(serverPid), 'SIGKILL'));
  seen.shown.resuming = await second.innerText('#problem');
  await look(second, LOOKS[1].name, 'resuming');
  await problem(second, 'lost');
  seen.shown.lost = await second.innerText('#problem');
  await look(second, LOOKS[1].name, 'lost');
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
