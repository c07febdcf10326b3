// Opens a report, has axe look at it in both schemes, wide and narrow, and returns what it found and what the page fetched.
// FILE SCREENSHOT_FOLDER|-
import { Looks } from '../browser/looks.mjs';

export default async function report(browser, file, folder) {
  const requests = [];
  const page = await browser.open(`file://${file}`, { axe: true, before: async (opened) => {
    opened.on('request', (request) => { if (!/^(file|data):/.test(request.url())) requests.push(request.url()); });
  } });
  const looks = new Looks(browser, folder);
  await looks.at(page, 'report');
  return { violations: looks.violations, requests };
}
