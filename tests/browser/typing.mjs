// Types a whole call on the page, which has no microphone, says an earlier message anew, and then speaks after all. Returns what was shown.
// URL SCREENSHOT_FOLDER|-
import { answers, hangUp, type } from './calls.mjs';

export default async function typing(browser, url, folder) {
  const page = await browser.open(url, { microphone: false });
  const look = async (name) => { if (folder !== '-') await page.screenshot({ path: `${folder}/typing-${name}.png` }); };

  await look('idle');
  await type(page, 'One.');
  await answers(page, 'I know One.');
  const button = await page.innerText('#mute');
  await type(page, 'Book a table.');
  await answers(page, 'Your table is booked.');
  await type(page, 'Two.');
  await answers(page, 'I know One. Book a table. Two.');
  await look('before');

  await page.hover('.caller >> nth=1');
  await page.click('.caller >> nth=1 >> .edit');
  await page.fill('.editing textarea', 'Three.');
  const note = await page.innerText('.editing small');
  await look('editing');
  await page.click('.editing [type="submit"]');
  await answers(page, 'I know One. Three.');
  await look('after');
  const lines = await page.evaluate(() => [...document.querySelectorAll('#transcript > .said .words')].map((line) => line.textContent.trim()));
  const undone = await page.evaluate(() => [...document.querySelectorAll('.undone li')].map((line) => line.textContent.trim()));

  await page.context().grantPermissions(['microphone']);
  await page.click('#mute');
  await page.waitForFunction(() => document.querySelector('#mute span').textContent === 'Mute');
  await hangUp(page);
  return { lines, undone, note, button };
}
