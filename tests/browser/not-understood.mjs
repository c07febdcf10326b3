// Says something on the page of which no word is understood, until the agent has answered, and returns the captions. URL SPEECH.wav
import { speak } from './browser.mjs';
import { answered } from './calls.mjs';

export default async function notUnderstood(browser, url, speech) {
  const page = await browser.open(url, { speaks: true });
  await page.click('#call');
  await answered(page);
  await speak(page, speech);
  await page.waitForSelector('.caller .not-understood');
  await page.waitForFunction(() => document.querySelectorAll('.agent .heard').length === 2);
  await page.waitForFunction(() => [...document.querySelectorAll('.agent .heard')].pop().textContent.endsWith('.'));
  return page.evaluate(() => ({
    caller: [...document.querySelectorAll('.caller .words')].map((words) => words.textContent),
    agent: [...document.querySelectorAll('.agent .words .heard')].map((words) => words.textContent),
  }));
}
