// Calls from the page in Chromium and films it: JPEG frames in FOLDER, and frames.json with the second at which each was seen. Below
// the page stands what is said. node record-call.mjs URL MICROPHONE.wav FOLDER SECONDS
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [, , url, microphone, folder, seconds] = process.argv;
const SIZE = { width: 1120, height: 760 };
// Frames as fast as they come would take a core of their own, and the call would suffer.
const PACE_MS = 110;
const profile = await mkdtemp(join(tmpdir(), 'record-call-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM,
  viewport: SIZE,
  colorScheme: 'light',
  args: [
    '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
    '--allow-loopback-in-peer-connection', `--use-file-for-fake-audio-capture=${microphone}`,
  ],
});
try {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector('#about:not([hidden])');
  await page.evaluate(() => {
    const caption = document.createElement('div');
    caption.style.cssText = 'position:fixed;left:31%;bottom:180px;translate:-50% 0;width:max-content;max-width:52%;padding:10px 20px;border-radius:10px;'
      + 'background:#000c;color:#fff;font:600 24px system-ui,sans-serif;z-index:9;text-align:center;pointer-events:none';
    caption.hidden = true;
    document.getElementById('examples').style.display = 'none'; // leaves room for the conversation
    document.getElementById('transcript').parentElement.style.paddingBottom = '5rem'; // keeps its last line clear of the caption
    document.body.append(caption);
    const show = () => {
      const lines = [...document.querySelectorAll('#transcript .caller, #transcript .agent')];
      const last = lines.filter((line) => /\w/.test(line.querySelector('.words')?.textContent ?? '')).pop();
      if (!last) return;
      const heard = last.querySelector('.words .heard, .words')?.textContent.trim();
      const said = last.querySelector('s') ? `${heard} … interrupted` : last.querySelector('.words').textContent.trim();
      caption.textContent = `${last.classList.contains('caller') ? 'Caller' : 'Agent'}: ${said}`;
      caption.hidden = false;
    };
    new MutationObserver(show).observe(document.getElementById('transcript'), { childList: true, subtree: true, characterData: true });
  });
  const camera = await context.newCDPSession(page);
  const frames = [];
  let writing = Promise.resolve();
  camera.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    const name = `${String(frames.length).padStart(4, '0')}.jpg`;
    frames.push({ name, at: metadata.timestamp });
    writing = writing.then(() => writeFile(join(folder, name), Buffer.from(data, 'base64')));
    setTimeout(() => camera.send('Page.screencastFrameAck', { sessionId }).catch(() => {}), PACE_MS);
  });
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await camera.send('Page.startScreencast', { format: 'jpeg', quality: 95, maxWidth: SIZE.width, maxHeight: SIZE.height });
  await page.waitForTimeout(Number(seconds) * 1000);
  await camera.send('Page.stopScreencast');
  await writing;
  await writeFile(join(folder, 'frames.json'), JSON.stringify(frames));
  console.log(JSON.stringify(await page.evaluate(() => ({
    said: [...document.querySelectorAll('#transcript .caller .words')].map((words) => words.textContent),
    heard: [...document.querySelectorAll('.agent .words .heard')].map((words) => words.textContent),
    interrupted: document.querySelectorAll('#transcript s').length,
  }))));
  await page.click('#call');
} finally {
  await context.close();
  await rm(profile, { recursive: true, force: true });
}
