// Drives the page in Chromium through what can go wrong with a call, and prints the code and the text of each problem that was
// shown, in order, as JSON. node problems.mjs URL full SERVER_PID | node problems.mjs URL memory
// | node problems.mjs URL key GOOD_KEY | node problems.mjs URL failing
import { chromium } from 'playwright-core';

const [, , url, scenario, argument] = process.argv;
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection',
];
const shown = [];
const pageErrors = [];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });

async function open({ microphone }) {
  const context = await browser.newContext({ permissions: microphone ? ['microphone'] : [] });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => pageErrors.push(error.message));
  await page.goto(url);
  return page;
}

const live = (page) => page.waitForFunction(() => document.body.dataset.state === 'live');

async function problem(page, code) {
  await page.waitForFunction((wanted) => {
    const box = document.getElementById('problem');
    return !box.hidden && box.dataset.code === wanted;
  }, code);
  shown.push({ code, text: await page.innerText('#problem'), state: await page.evaluate(() => document.body.dataset.state) });
}

async function full() {
  const refused = await open({ microphone: false });
  await refused.click('#call');
  await problem(refused, 'microphone_refused');

  const first = await open({ microphone: true });
  await first.click('#call');
  await live(first);
  const second = await open({ microphone: true });
  await second.keyboard.press('Space');
  await problem(second, 'server_full');

  await first.keyboard.press('Space');
  await first.waitForFunction(() => document.body.dataset.state === 'idle');
  await second.waitForFunction(async () => (await (await fetch('/metrics')).text()).includes('voiceagent_calls_active 0'));
  await second.click('#problem button');
  await live(second);
  if (await second.isVisible('#problem')) throw new Error('the problem is still shown in the call that solved it');

  process.kill(Number(argument), 'SIGTERM');
  await problem(second, 'server_stopping');
  await second.click('#problem button');
  await problem(second, 'server_unreachable');
}

async function memory() {
  const first = await open({ microphone: true });
  await first.click('#call');
  await live(first);
  const second = await open({ microphone: true });
  await second.click('#call');
  await problem(second, 'memory_full');
}

async function key() {
  const page = await open({ microphone: true });
  await page.click('#call');
  await problem(page, 'missing_api_key');
  await page.fill('#problem input', argument);
  await page.keyboard.press('Enter');
  await live(page);
  await page.keyboard.press('m');
  if ((await page.getAttribute('#mute', 'aria-pressed')) !== 'true') throw new Error('M did not mute');
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'idle');
}

/** Two messages that the language model's server fails to answer. */
async function failing() {
  const page = await open({ microphone: true });
  await page.click('#call');
  await live(page);
  for (const count of [1, 2]) {
    await page.fill('#message', 'What can you do?');
    await page.keyboard.press('Enter');
    await page.waitForFunction((wanted) => document.querySelectorAll('.failure').length === wanted, count);
    await page.waitForFunction((wanted) => document.querySelectorAll('#turns [data-turn]').length === wanted, count);
  }
  for (const told of await page.$$eval('.failure', (lines) => lines.map((line) => line.textContent))) {
    shown.push({ code: 'failure', text: told, state: 'idle' });
  }
}

try {
  await { full, memory, key, failing }[scenario]();
  console.log(JSON.stringify({ shown, pageErrors }));
} finally {
  await browser.close();
}
