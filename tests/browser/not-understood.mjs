// Drives the page in Chromium through one call, with a WAV file as the microphone, until the agent has answered speech of which no
// word was understood, and prints the captions as JSON. node not-understood.mjs URL MICROPHONE.wav PROFILE_FOLDER
import { opened } from './browser.mjs';

const [, , url, microphone, folder] = process.argv;
const LIMIT_MS = 90_000;

const context = await opened(folder, `${microphone}%noloop`, '--allow-loopback-in-peer-connection');
const errors = [];
try {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(url);
  await page.click('#call');
  await page.waitForSelector('.caller .not-understood');
  await page.waitForFunction(() => document.querySelectorAll('.agent .heard').length === 2);
  await page.waitForFunction(() => [...document.querySelectorAll('.agent .heard')].pop().textContent.endsWith('.'));
  const seen = await page.evaluate(() => ({
    caller: [...document.querySelectorAll('.caller .words')].map((words) => words.textContent),
    agent: [...document.querySelectorAll('.agent .words .heard')].map((words) => words.textContent),
  }));
  console.log(JSON.stringify({ ...seen, errors }));
} finally {
  await context.close();
}
