// Drives the page in Chromium through one call, with a WAV file as the microphone, and prints what a person would have seen
// and heard as JSON. node call.mjs URL MICROPHONE.wav PROFILE_FOLDER
import { opened } from './browser.mjs';

const [, , url, microphone, folder] = process.argv;
const LIMIT_MS = 60_000;

const context = await opened(folder, microphone, '--allow-loopback-in-peer-connection');
const errors = [];
try {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (line) => line.type() === 'error' && errors.push(line.text()));
  await page.goto(url);
  await page.click('#call');
  await page.waitForFunction(() => document.getElementById('speaker').srcObject);
  await page.evaluate(() => {
    const audio = new AudioContext();
    const analyser = audio.createAnalyser();
    audio.createMediaStreamSource(document.getElementById('speaker').srcObject).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    window.levels = [];
    window.partials = 0;
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      window.levels.push([performance.now(), Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length)]);
      if (document.querySelector('.caller .unstable')?.textContent) window.partials += 1;
      const replies = document.querySelectorAll('.agent').length;
      if (document.querySelector('#transcript s')) window.cutAt ??= (window.repliesThen = replies, performance.now());
      if (replies > window.repliesThen) window.nextAt ??= performance.now();
    }, 10);
  });
  await page.waitForFunction(() => document.querySelectorAll('#transcript s').length === 2);
  await page.waitForFunction(() => /Okay/.test([...document.querySelectorAll('.agent .words')].pop()?.textContent ?? ''));
  const seen = await page.evaluate(() => ({
    caller: [...document.querySelectorAll('.caller .words')].map((words) => words.textContent),
    agent: [...document.querySelectorAll('.agent .words .heard')].map((words) => words.textContent),
    cut: [...document.querySelectorAll('#transcript s')].map((words) => words.textContent),
    tools: [...document.querySelectorAll('.tool')].map((tool) => ({ ...tool.dataset })),
    turns: document.querySelectorAll('#turns > li').length,
    partials: window.partials,
    levels: window.levels,
    cutAt: window.cutAt,
    nextAt: window.nextAt, // the next reply is on the page
  }));
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state !== 'live');
  console.log(JSON.stringify({ ...seen, errors }));
} finally {
  await context.close();
}
