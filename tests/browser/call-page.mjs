// Goes through a recorded call on the page, which begins with an example. Returns what the page shows of the call, what can be downloaded,
// and what the panel of sound does. URL SCREENSHOT_FOLDER|-
import { readFile } from 'node:fs/promises';
import { hangUp, state } from './calls.mjs';

const LOOKS = {
  desktop: { width: 1440, height: 900 }, wide: { width: 2200, height: 1200 }, tablet: { width: 820, height: 1100 }, phone: { width: 390, height: 844 },
};
const LONG = 'Gemeinschaftspraxis für Hals-Nasen-Ohrenheilkunde und Allgemeinmedizin Doktor Weber-Oberhuber';

export default async function callPage(browser, url, folder) {
  const seen = { violations: [], files: {} };

  const open = async (look, more = {}) => {
    const page = await browser.open(url, { ...more, axe: true, viewport: LOOKS[look], permissions: ['clipboard-read', 'clipboard-write'], before: async (opened) => {
      opened.on('console', (line) => line.type() === 'error' && browser.errors.push(line.text()));
      await opened.addInitScript(() => {
        globalThis.asked = [];
        const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        navigator.mediaDevices.getUserMedia = (wanted) => { globalThis.asked.push(wanted.audio); return real(wanted); };
      });
    } });
    await page.waitForSelector('#about:not([hidden])');
    return page;
  };

  /** Where axe looks for what keeps people out. */
  const HELD_AGAINST_AXE = ['desktop light', 'phone dark'];

  /** Look at a state on all screens, by day and, where pictures are wanted, by night. */
  async function look(page, state) {
    for (const [name, viewport] of Object.entries(LOOKS)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark']) {
        const isHeld = HELD_AGAINST_AXE.includes(`${name} ${colorScheme}`);
        if (!isHeld && colorScheme === 'dark' && folder === '-') continue;
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const where = `${state} ${name} ${colorScheme}`;
        if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.violations.push(`${where} is too wide`);
        if (folder !== '-') await page.screenshot({ path: `${folder}/call-${state}-${name}-${colorScheme}.png` });
        if (!isHeld) continue;
        const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        seen.violations.push(...found.violations.map(({ id, nodes }) => `${where} ${id}: ${nodes[0].target} ${nodes[0].failureSummary}`));
      }
    }
    await page.setViewportSize(LOOKS.desktop);
  }

  const turns = (page, count) => page.waitForFunction((wanted) => document.querySelectorAll('#turns [data-turn]').length >= wanted, count);

  async function download(page, name) {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`#summary [data-download${name}]`)]);
    seen.files[file.suggestedFilename()] = (await readFile(await file.path())).toString(file.suggestedFilename().endsWith('.wav') ? 'latin1' : 'utf8').slice(0, 400_000);
  }

  async function call() {
    const page = await open('desktop');
    await look(page, 'idle');
    seen.idle = await page.evaluate(() => ({
      name: document.getElementById('agent-name').textContent,
      about: document.getElementById('about').innerText,
      unfit: document.getElementById('unfit').hidden,
      steps: document.getElementById('steps').hidden,
      examples: [...document.querySelectorAll('#example-list button')].map((button) => button.textContent),
    }));
    await page.click('#example-list li:nth-child(2) button');
    await state(page, 'live');
    await page.waitForFunction(() => document.querySelector('.agent .heard')?.textContent);
    seen.hint = await page.textContent('#examples-hint');
    await page.click('#example-list .chosen');
    await turns(page, 1);
    await page.click('#example-list li:nth-child(1) button');
    await turns(page, 2);
    await look(page, 'in-call');
    seen.during = await page.evaluate(() => ({
      said: [...document.querySelectorAll('.caller.typed .words')].map((words) => words.textContent),
      figures: document.querySelector('#call-figures .figures').innerText,
      bars: document.querySelectorAll('.wait-chart rect').length,
      chart: document.querySelector('.wait-chart').getAttribute('aria-label'),
      waits: [...document.querySelectorAll('#turns .total')].map((total) => total.textContent),
      id: document.querySelector('.call-id code').textContent,
      monitor: document.querySelector('.call-id a').href,
      lanes: [...document.querySelectorAll('.lane')].map((lane) => lane.textContent),
    }));
    await page.click('#call-panel .call-id button');
    await page.waitForFunction(() => document.querySelector('#call-panel [role=status]').textContent);
    seen.copied = await page.evaluate(() => navigator.clipboard.readText());
    await onAPhone(page);
    await hangUp(page);
    await look(page, 'ended');
    seen.summary = await page.innerText('#summary');
    for (const suffix of ['$=".txt"', '$=".jsonl"', '$=".csv"', '="recording"']) await download(page, suffix);
    const monitor = await page.context().newPage();
    await monitor.goto(seen.during.monitor);
    seen.monitorTitle = await monitor.textContent('#call-title');
  }

  /** The agent's name stays, however long it is, and the times are one tap away. */
  async function onAPhone(page) {
    await page.setViewportSize(LOOKS.phone);
    await page.evaluate((name) => { document.getElementById('agent-name').textContent = name; }, LONG);
    seen.phone = await page.evaluate(() => {
      const name = document.getElementById('agent-name').getBoundingClientRect();
      return { nameWidth: name.width, tooWide: document.documentElement.scrollWidth > innerWidth, bar: document.querySelector('.bar').offsetHeight };
    });
    if (folder !== '-') await page.screenshot({ path: `${folder}/call-long-name-phone.png` });
    await page.click('#show-times');
    seen.phone.times = await page.evaluate(() => ({
      pressed: document.getElementById('show-times').getAttribute('aria-pressed'),
      top: document.getElementById('times').getBoundingClientRect().top,
      conversation: document.querySelector('.conversation').offsetHeight,
    }));
    if (folder !== '-') await page.screenshot({ path: `${folder}/call-times-phone.png` });
    await page.click('#show-times');
    await page.setViewportSize(LOOKS.desktop);
  }

  /** The panel of sound: another loudspeaker, the volume, hearing oneself, the noise setting; all of it kept. */
  async function sound() {
    const page = await open('desktop');
    await page.click('#sound');
    await look(page, 'sound');
    await page.evaluate(() => {
      globalThis.heard = [];
      const player = document.getElementById('own-voice');
      player.addEventListener('playing', () => globalThis.heard.push([player.volume, player.duration]));
    });
    await page.fill('#volume', '40');
    await page.uncheck('input[name="noiseSuppression"]');
    await page.click('#hear');
    await page.waitForFunction(() => Number(document.getElementById('microphone-level').getAttribute('aria-valuenow')) > 0);
    await page.waitForFunction(() => globalThis.heard.length > 0);
    await page.waitForFunction(() => document.getElementById('hear').textContent === 'Hear yourself');
    seen.sound = await page.evaluate(() => ({ asked: globalThis.asked[0], heard: globalThis.heard.map(([volume]) => volume) }));
    await page.evaluate(() => {
      globalThis.chosen = [];
      HTMLMediaElement.prototype.setSinkId = function set(id) {
        globalThis.chosen.push([this.id, id]);
        return id === 'gone' ? Promise.reject(new DOMException('gone', 'NotFoundError')) : Promise.resolve();
      };
      document.getElementById('loudspeakers').append(new Option('Kitchen', 'kitchen'), new Option('Gone', 'gone'));
    });
    await page.selectOption('#loudspeakers', 'kitchen');
    await page.selectOption('#loudspeakers', 'gone');
    await page.waitForFunction(() => document.getElementById('loudspeaker-note').textContent);
    seen.loudspeakers = await page.evaluate(() => ({ chosen: globalThis.chosen, note: document.getElementById('loudspeaker-note').textContent }));
    await page.keyboard.press('Escape');
    seen.closed = await page.evaluate(() => [document.getElementById('sound-panel').hidden, document.activeElement.id]);
    await page.reload();
    await page.click('#call');
    await state(page, 'live');
    seen.kept = await page.evaluate(() => ({ asked: globalThis.asked.at(-1), volume: document.getElementById('speaker').volume }));
    await page.click('#sound');
    await page.check('input[name="noiseSuppression"]');
    await page.waitForFunction(() => globalThis.asked.length === 2);
    seen.inCall = await page.evaluate(() => globalThis.asked.at(-1));
    await hangUp(page);
  }

  /** Where there is no microphone, an example begins a typed call. */
  async function withoutMicrophone() {
    const page = await open('desktop');
    await page.evaluate(() => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('none', 'NotFoundError')); });
    await page.click('#example-list li:nth-child(1) button');
    await page.waitForSelector('#problem[data-code="microphone_missing"]');
    await page.click('#example-list li:nth-child(1) button');
    await turns(page, 1);
    seen.typed = { said: await page.textContent('.caller.typed .words'), hint: await page.textContent('#examples-hint') };
    await hangUp(page);
  }

  await call();
  await withoutMicrophone();
  await sound();
  return seen;
}
