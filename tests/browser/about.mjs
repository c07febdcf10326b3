// Opens the page in Chromium, as wide as a desktop's and a telephone's, and prints as JSON what it says of the models that answer.
// node about.mjs URL
import { chromium } from 'playwright-core';

const [, , url] = process.argv;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
});
const seen = [];
try {
  for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
      await page.goto(url);
      await page.waitForSelector('#about:not([hidden])');
      seen.push(await page.evaluate(() => ({
        about: document.getElementById('about').innerText,
        unfit: document.getElementById('unfit').hidden ? '' : document.getElementById('unfit').innerText,
        stepsHidden: document.getElementById('steps').hidden,
        tooWide: document.documentElement.scrollWidth > innerWidth,
      })));
    }
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
