// Goes through what can go wrong with a call on the page. Returns the code and the text of each problem that was shown, in order.
// URL all SERVER_PID KEY: on a server for one call, whose language model fails | URL memory | URL key KEY
import { hangUp, problem, state, type } from './calls.mjs';

/** What is shown. */
class Problems {
  constructor() {
    this.shown = [];
  }

  /** Wait for one, and note it. @param {any} page @param {string} code */
  async wait(page, code) {
    await problem(page, code);
    this.shown.push({ code, text: await page.innerText('#problem'), state: await page.evaluate(() => document.body.dataset.state) });
  }
}

async function enter(page, key) {
  await page.fill('#problem input', key);
  await page.keyboard.press('Enter');
}

/** A call that waits for its key. */
async function key(browser, problems, url, value) {
  const page = await browser.open(url);
  await page.click('#call');
  await problems.wait(page, 'missing_api_key');
  await enter(page, value);
  await state(page, 'live');
  await page.keyboard.press('m');
  if ((await page.getAttribute('#mute', 'aria-pressed')) !== 'true') throw new Error('M did not mute');
  return page;
}

/** Two messages that the language model's server fails to answer. */
async function failures(page) {
  for (const count of [1, 2]) {
    await type(page, 'What can you do?');
    await page.waitForFunction((wanted) => document.querySelectorAll('.failure').length === wanted, count);
    await page.waitForFunction((wanted) => document.querySelectorAll('#turns [data-turn]').length === wanted, count);
  }
  return page.$$eval('.failure', (lines) => lines.map((line) => line.textContent));
}

async function all(browser, problems, url, serverPid, value) {
  const refused = await browser.open(url, { microphone: false });
  await refused.click('#call');
  await problems.wait(refused, 'microphone_refused');

  const first = await key(browser, problems, url, value);
  const failed = await failures(first);
  const second = await browser.open(url);
  await second.keyboard.press('Space');
  await second.waitForSelector('#problem input');
  await enter(second, value);
  await problems.wait(second, 'server_full');

  await first.evaluate(() => document.activeElement.blur());
  await first.keyboard.press('Space');
  await state(first, 'idle');
  await second.waitForFunction(async (token) => {
    const response = await fetch('/metrics', { headers: { Authorization: `Bearer ${token}` } });
    return (await response.text()).includes('voiceagent_calls_active 0');
  }, value);
  await second.click('#problem button');
  await state(second, 'live');
  if (await second.isVisible('#problem')) throw new Error('the problem is still shown in the call that solved it');

  process.kill(Number(serverPid), 'SIGTERM');
  await problems.wait(second, 'server_stopping');
  await second.click('#problem button');
  await problems.wait(second, 'server_unreachable');
  return { failed };
}

/** Where the model's memory holds one call; what the page says of the model is read, too, on a desktop and on a telephone. */
async function memory(browser, problems, url) {
  const first = await browser.open(url);
  const unfit = [];
  for (const width of [1280, 390]) {
    await first.setViewportSize({ width, height: 800 });
    await first.waitForSelector('#unfit:not([hidden])');
    const tooWide = await first.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    unfit.push({ text: await first.innerText('#unfit'), tooWide });
  }
  await first.click('#call');
  await state(first, 'live');
  const second = await browser.open(url);
  await second.click('#call');
  await problems.wait(second, 'memory_full');
  return { unfit };
}

export default async function seen(browser, url, scenario, ...given) {
  const problems = new Problems();
  const ways = { all, memory, key: async (...told) => void await hangUp(await key(...told)) };
  return { ...(await ways[scenario](browser, problems, url, ...given)), shown: problems.shown };
}
