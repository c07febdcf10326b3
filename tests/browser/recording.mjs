// Calls that are recorded: one on the page, which is asked by a typed line to record no more, and one by the button on a German page.
// Returns what they show. URL SCREENSHOT_FOLDER|-
import { Looks } from './looks.mjs';

export default async function recording(browser, url, folder) {
  const looks = new Looks(browser, folder);
  const seen = {};

  const open = (place) => browser.open(place, { axe: true, before: (page) => page.route('**/shop', (route) => route.fulfill({
    contentType: 'text/html',
    body: '<!doctype html><html lang="de"><title>Laden</title><main><h1>Laden</h1></main><script src="/widget.js"></script></html>',
  })) });

  const look = (page, notice, name) => looks.at(page, `recording-${name}`, async () => {
    const { x, y, width, height } = await notice.boundingBox();
    const size = page.viewportSize();
    return x < 0 || y < 0 || x + width > size.width || y + height > size.height ? ['out of sight'] : [];
  });

  const page = await open(url);
  const notice = page.locator('#recording');
  seen.before = await notice.ariaSnapshot();
  await page.click('#call');
  await page.locator('#recording.on').waitFor();
  seen.during = await notice.ariaSnapshot();
  await look(page, notice, 'page');
  await page.fill('#message', 'Do not record me.');
  await page.click('#send');
  await page.locator('#recording:not(.on)').waitFor();
  seen.after = await notice.ariaSnapshot();
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'idle');
  seen.ended = await notice.textContent();
  seen.languages = await page.evaluate(async () => {
    const { RecordingNotice } = await import('/lib/voiceagent.js');
    return ['en-GB', 'de', 'es-MX', 'fr', 'it', 'nl', 'pt-BR', 'ja'].map((tag) => {
      const place = document.createElement('p');
      const made = new RecordingNotice(place, [tag]);
      const texts = [true, false].map((recording) => {
        made.take({ type: 'voiceagent.recording', recording });
        return place.textContent;
      });
      return [place.lang, ...texts];
    });
  });
  const shop = await open(`${url}/shop`);
  const told = shop.locator('voiceagent-call .recording');
  await shop.locator('voiceagent-call .call').click();
  await shop.locator('voiceagent-call .recording.on').waitFor();
  seen.widget = await told.ariaSnapshot();
  await look(shop, told, 'widget');
  await shop.locator('voiceagent-call .call').click();
  await shop.waitForFunction(() => document.querySelector('voiceagent-call').dataset.state === 'idle');
  seen.widgetEnded = await told.textContent();
  return { ...seen, violations: looks.violations };
}
