// Makes two calls from the page with a WAV file as the microphone: from a Chromium whose UDP goes nowhere, and from one that may send
// none. Prints what a person would have seen and heard as JSON. node no-udp.mjs URL MICROPHONE.wav PROFILE_FOLDER
import { opened as browser } from './browser.mjs';

const [, , url, microphone, folder] = process.argv;
const open = (name, ...more) => browser(`${folder}-${name}`, microphone, ...more);
const errors = [];

async function opened(context, isLost) {
  const page = context.pages()[0] ?? await context.newPage();
  page.setDefaultTimeout(40_000);
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (line) => line.type() === 'error' && errors.push(line.text()));
  if (isLost) await page.addInitScript(() => {
    const settle = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function nowhere(answer) {
      const sdp = answer.sdp.replaceAll(/^(a=candidate:\S+ \d \S+ \d+ \S+) \d+/gm, '$1 9');
      return settle.call(this, { ...answer, sdp });
    };
  });
  await page.goto(url);
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await page.waitForSelector('#transport', { state: 'visible' });
  return page;
}

const lost = await open('lost', '--allow-loopback-in-peer-connection');
const afterWaiting = await (await opened(lost, true)).innerText('#transport');
await lost.close();

const context = await open('none', '--webrtc-ip-handling-policy=disable_non_proxied_udp');
try {
  const page = await opened(context);
  await page.evaluate(() => {
    const audio = new AudioContext();
    const analyser = audio.createAnalyser();
    audio.createMediaStreamSource(document.getElementById('speaker').srcObject).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    window.loudest = 0;
    window.statuses = new Set();
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      window.loudest = Math.max(window.loudest, Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length));
      window.statuses.add(document.getElementById('status').dataset.status);
    }, 20);
  });
  const shown = (so) => page.waitForFunction(so, null, { timeout: 25_000 }).catch(async (error) => {
    throw new Error(`${error.message}: ${await page.innerText('body')} ${errors}`);
  });
  await shown(() => [...document.querySelectorAll('.agent .words')].some((words) => /Paris/.test(words.textContent)));
  await shown(() => document.querySelector('#transcript s'));
  const seen = await page.evaluate(() => ({
    caller: [...document.querySelectorAll('.caller .words')].map((words) => words.textContent),
    cut: document.querySelectorAll('#transcript s').length,
    note: document.getElementById('transport').innerText,
    loudest: window.loudest,
    statuses: [...window.statuses],
  }));
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'idle');
  console.log(JSON.stringify({ ...seen, afterWaiting, errors }));
} finally {
  await context.close();
}
