// Opens a report in Chromium, has axe look at it in both schemes, wide and narrow, and prints what it found and what the page fetched.
// node report_page.mjs FILE CHROMIUM SCREENSHOT_FOLDER
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , file, executablePath, folder] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const seen = { violations: [], requests: [], errors: [] };
const browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
for (const colorScheme of ['light', 'dark']) {
  for (const width of [1200, 375]) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    page.on('pageerror', (error) => seen.errors.push(error.message));
    page.on('request', (request) => { if (!/^(file|data):/.test(request.url())) seen.requests.push(request.url()); });
    await page.addInitScript({ path: AXE });
    await page.goto(`file://${file}`);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    for (const { id, nodes } of violations) seen.violations.push([colorScheme, width, id, nodes[0].html, nodes[0].failureSummary]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) seen.violations.push([colorScheme, width, 'wider-than-the-window', wide]);
    await page.screenshot({ path: `${folder}/report-${colorScheme}-${width}.png`, fullPage: true });
    await page.close();
  }
}
await browser.close();
console.log(JSON.stringify(seen));
