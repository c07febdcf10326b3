// Speaks two whole calls on the page, over WebRTC and over a WebSocket, and returns what a person would have seen and heard.
// URL WEATHER.wav CAN.wav TIME.wav STOP.wav: the lines that are said
import { speak } from './browser.mjs';
import { answered, hangUp, onlyRelays, state, type, withoutUdp } from './calls.mjs';

/** Follow how loud the agent is, what the page says of the call, and when words were cut and the next reply was there. */
function listen() {
  const audio = new AudioContext();
  const analyser = audio.createAnalyser();
  audio.createMediaStreamSource(document.getElementById('speaker').srcObject).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const heard = globalThis.heard = { levels: [], partials: 0, statuses: [] };
  let repliesThen = Infinity;
  setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    heard.levels.push([performance.now(), Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length)]);
    if (document.querySelector('.caller .unstable')?.textContent) heard.partials += 1;
    const { status } = document.getElementById('status').dataset;
    if (!heard.statuses.includes(status)) heard.statuses.push(status);
    const replies = document.querySelectorAll('.agent').length;
    if (document.querySelector('#transcript s') && !heard.cutAt) {
      repliesThen = replies;
      heard.cutAt = performance.now();
    }
    if (replies > repliesThen) heard.nextAt ??= performance.now();
  }, 10);
}

const shown = (page) => page.evaluate(() => ({
  ...globalThis.heard,
  caller: [...document.querySelectorAll('.caller .words')].map((words) => words.textContent),
  agent: [...document.querySelectorAll('.agent .words .heard')].map((words) => words.textContent),
  cut: [...document.querySelectorAll('#transcript s')].map((words) => words.textContent),
  tools: [...document.querySelectorAll('.tool')].map((tool) => ({ ...tool.dataset })),
  turns: document.querySelectorAll('#turns > li').length,
  note: document.getElementById('transport').checkVisibility(),
  playing: !document.getElementById('speaker').paused,
}));

/** Say this while the agent says its line `at`, and wait until words of it are struck out. */
async function interrupt(page, line, at) {
  await page.waitForFunction((index) => {
    const said = [...document.querySelectorAll('.agent')].at(index)?.querySelector('.heard');
    return said?.textContent.split(' ').length > 2;
  }, at);
  await speak(page, line);
  await page.waitForFunction((index) => [...document.querySelectorAll('.agent')][index].querySelector('s'), at);
  await page.waitForFunction((index) => [...document.querySelectorAll('.agent')][index + 1], at);
}

async function called(browser, url, before) {
  const page = await browser.open(url, { speaks: true, before });
  await page.click('#call');
  await state(page, 'live');
  await page.waitForFunction(() => document.getElementById('speaker').srcObject);
  await page.evaluate(listen);
  await answered(page);
  return page;
}

export default async function spoken(browser, url, weather, can, time, stop) {
  const page = await called(browser, url);
  await speak(page, weather);
  await answered(page, 'Paris');
  await speak(page, can);
  await interrupt(page, time, 2);
  await interrupt(page, stop, 3);
  await answered(page, 'Okay');
  await page.click('#mute');
  await type(page, "What's the weather in Tokyo tomorrow?");
  await answered(page, 'Tokyo');
  const webrtc = await shown(page);
  await hangUp(page);

  const [other, before] = browser.name === 'firefox' ? [browser, onlyRelays] : [withoutUdp(browser)];
  const further = await called(other, url, before);
  await speak(further, weather);
  await interrupt(further, stop, 1);
  await answered(further, 'Okay');
  const websocket = await shown(further);
  await hangUp(further);
  return { webrtc, websocket };
}
