// Calls that are recorded, in Chromium: one on the page, which is asked by a typed line to record no more, and one by the button on a
// German page. Prints what they show as JSON. node recording.mjs URL SCREENSHOT_FOLDER|-
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , url, folder] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const LOOKS = { desktop: { width: 1280, height: 800 }, phone: { width: 375, height: 720 } };
const seen = { violations: [], errors: [] };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
    '--allow-loopback-in-peer-connection',
  ],
});

async function open(place) {
  const page = await (await browser.newContext({ permissions: ['microphone'], viewport: LOOKS.desktop })).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => seen.errors.push(error.message));
  await page.addInitScript({ path: AXE });
  await page.route('**/shop', (route) => route.fulfill({
    contentType: 'text/html',
    body: '<!doctype html><html lang="de"><title>Laden</title><main><h1>Laden</h1></main><script src="/widget.js"></script></html>',
  }));
  await page.goto(place);
  return page;
}

async function look(page, notice, name) {
  for (const [size, viewport] of Object.entries(LOOKS)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const where = `${name} ${size} ${colorScheme}`;
      seen.violations.push(...found.violations.map(({ id, nodes }) => `${where} ${id}: ${nodes[0].failureSummary}`));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.violations.push(`${where} is too wide`);
      const { x, y, width, height } = await notice.boundingBox();
      if (x < 0 || y < 0 || x + width > viewport.width || y + height > viewport.height) seen.violations.push(`${where}: out of sight`);
      if (folder !== '-') await page.screenshot({ path: `${folder}/recording-${name}-${size}-${colorScheme}.png` });
    }
  }
}

try {
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
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
