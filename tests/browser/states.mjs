// Walks the page through its states, looks at each, and returns what was found and what was shown.
// URL SERVER_PID GOOD_KEY MODEL SPEECH.wav SCREENSHOT_FOLDER|-
// The MODEL waits in some answers until its /release is fetched; so does the agent's tool. The SPEECH is one long utterance.
import { speak } from './browser.mjs';
import { hangUp, problem, state, type } from './calls.mjs';
import { Looks } from './looks.mjs';

export default async function states(browser, url, serverPid, goodKey, model, speech, folder) {
  const seen = { shown: {} };
  const looks = new Looks(browser, folder, { isShared: true });
  const look = (page, state) => looks.at(page, state);

  const status = (page, wanted) => page.waitForFunction((value) => document.getElementById('status').dataset.status === value, wanted);
  const release = () => fetch(`${model}/release`);
  const text = (page, place) => page.innerText(place);

  /** When the page has told of a problem, in ms after this was done. */
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

  /** With a key from an earlier call: who answers, what to say, and the panel of sound. */
  async function welcome() {
    const page = await browser.open(url, { axe: true, before: (opened) => opened.addInitScript((key) => {
      if (location.protocol === 'http:') sessionStorage.setItem('voiceagent.key', key);
    }, goodKey) });
    await page.waitForSelector('#examples li');
    await page.waitForSelector('#about-box > *');
    await look(page, 'welcome');
    await page.click('#sound');
    await page.waitForSelector('#sound-panel');
    await look(page, 'sound');
    await page.close();
  }

  /** Without a microphone: nobody allows it, or there is none. */
  async function unheard() {
    const refused = await browser.open(url, { microphone: false, axe: true });
    await refused.click('#call');
    await problem(refused, 'microphone_refused');
    await look(refused, 'microphone-refused');
    await refused.close();
    const missing = await browser.open(url, { axe: true, before: (page) => page.addInitScript(() => {
      if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('There is none.', 'NotFoundError'));
    }) });
    await missing.click('#call');
    await problem(missing, 'microphone_missing');
    await look(missing, 'microphone-missing');
    await missing.close();
  }

  /** Until the call: the page at rest, without a key, with a wrong one, and calling. */
  async function before(page) {
    await look(page, 'idle');
    await page.click('#call');
    await problem(page, 'missing_api_key');
    seen.shown.missing = await text(page, '#problem');
    await look(page, 'missing-key');
    await page.fill('#problem input', 'no-key-of-this-server');
    await page.keyboard.press('Enter');
    await problem(page, 'invalid_api_key');
    seen.shown.wrong = await text(page, '#problem');
    await page.fill('#problem input', 'schlüssel “quoted”');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#problem input')?.value === '');
    await problem(page, 'invalid_api_key');
    await look(page, 'wrong-key');
    await page.route('**/v1/realtime/calls', async (route) => {
      await look(page, 'connecting');
      await route.continue();
    }, { times: 1 });
    await page.fill('#problem input', goodKey);
    await page.keyboard.press('Enter');
    await state(page, 'live');
  }

  /** In the call. */
  async function during(page) {
    await page.waitForSelector('#recording.on');
    await status(page, 'listening');
    await speak(page, speech);
    await status(page, 'hearing');
    await page.waitForFunction(() => document.querySelector('.caller .words')?.textContent);
    await look(page, 'hearing');
    await status(page, 'thinking');
    await look(page, 'thinking');
    await release();
    await page.waitForSelector('#turns [data-turn="1"]');
    await status(page, 'listening');
    await look(page, 'listening');
    seen.shown.spoken = await text(page, '.caller .words');
    await page.click('#mute');
    await look(page, 'muted');
    await type(page, 'Book a table.');
    await page.waitForSelector('.tool[data-status="running"]');
    await look(page, 'tool');
    await release();
    await page.waitForSelector('.tool[data-status="completed"]');
    await page.waitForSelector('#turns [data-turn="2"]');
    await status(page, 'listening');
    seen.shown.turn = await text(page, '#turns li');
    await type(page, 'It is about an invoice.');
    await page.waitForSelector('[data-step="number"][aria-current="step"]');
    await look(page, 'step');
    await page.locator('.caller .edit').last().click();
    await page.waitForSelector('.editing textarea');
    await look(page, 'editing');
    await page.keyboard.press('Escape');
    await status(page, 'listening');
    await type(page, 'Tell me a story.');
    await status(page, 'speaking');
    await page.waitForFunction(() => [...document.querySelectorAll('.agent .heard')].pop()?.textContent.startsWith('Once upon'));
    await look(page, 'speaking');
    seen.shown.stillSpeaking = await page.getAttribute('#status', 'data-status');
    await page.click('#stop');
    await page.waitForSelector('#transcript s');
    await look(page, 'interrupted');
    await type(page, 'Fail.');
    await page.waitForSelector('.failure');
    await page.evaluate(() => document.querySelector('.times').scrollIntoView());
    await look(page, 'failure');
    if (browser.name === 'firefox') await inspector(page);
  }

  /** In Chromium, inspector.mjs looks at it. */
  async function inspector(page) {
    await page.click('#inspect');
    for (const tab of ['events', 'tools', 'prompts', 'settings']) {
      await page.click(`#tab-${tab}`);
      await look(page, `inspector-${tab}`);
    }
    await page.click('#inspect');
  }

  /** The call's end, and the server's. */
  async function after(page) {
    await hangUp(page);
    seen.shown.muted = [await page.getAttribute('#mute', 'aria-pressed'), await text(page, '#mute')];
    await page.waitForSelector('#summary > *');
    await look(page, 'ended');
    await page.click('#call');
    await state(page, 'live');
    seen.shown.mutedAgain = [await page.getAttribute('#mute', 'aria-pressed'), await text(page, '#mute')];
    await page.waitForFunction(() => document.querySelectorAll('.agent .heard').length);
    seen.frozenMs = await noticed(page, 'quiet', () => process.kill(Number(serverPid), 'SIGSTOP'));
    seen.shown.quiet = await text(page, '#problem');
    await look(page, 'quiet');
    process.kill(Number(serverPid), 'SIGCONT');
    await state(page, 'live');
    await page.waitForFunction(() => document.getElementById('problem').hidden);
    seen.killedMs = await noticed(page, 'resuming', () => process.kill(Number(serverPid), 'SIGKILL'));
    seen.shown.resuming = await text(page, '#problem');
    await look(page, 'resuming');
    await problem(page, 'lost');
    seen.shown.lost = await text(page, '#problem');
    await look(page, 'lost');
  }

  await welcome();
  await unheard();
  const page = await browser.open(url, { axe: true, speaks: true });
  for (const part of [before, during, after]) await part(page);
  return { ...seen, violations: looks.violations };
}
