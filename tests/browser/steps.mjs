// Types through an agent's steps in Chromium, on a desktop and a telephone, by day and by night, and prints what the page shows of
// them as JSON. node steps.mjs URL SCREENSHOT_FOLDER|- LINE ...
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , url, folder, ...lines] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const LOOKS = { desktop: { width: 1280, height: 800 }, phone: { width: 375, height: 720 } };
const seen = { violations: [], errors: [], moments: [] };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
    '--allow-loopback-in-peer-connection',
  ],
});

const shown = (page) => page.evaluate(() => ({
  hidden: document.getElementById('steps').hidden,
  agents: [...document.querySelectorAll('.agent-steps')].map((one) => [one.firstElementChild.textContent, one.open]),
  steps: [...document.querySelectorAll('[data-step]')].map((row) => row.dataset.step),
  current: [...document.querySelectorAll('[aria-current="step"]')].map((row) => row.dataset.step),
  seen: [...document.querySelectorAll('[data-step].seen')].map((row) => row.dataset.step),
  agent: document.getElementById('agent-name').textContent,
  known: Object.fromEntries([...document.querySelectorAll('dd.known')].map((place) => [place.dataset.value, place.textContent])),
  ways: document.querySelectorAll('.step-graph .way').length,
}));

try {
  const page = await (await browser.newContext({ permissions: ['microphone'], viewport: LOOKS.desktop })).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => seen.errors.push(error.message));
  await page.addInitScript({ path: AXE });
  await page.goto(url);
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await page.waitForSelector('[aria-current="step"]');
  seen.moments.push(await shown(page));
  for (const line of lines) {
    const [text, step] = line.split('|');
    await page.fill('#message', text);
    await page.click('#send');
    await page.waitForFunction((wanted) => document.querySelector('[aria-current="step"]')?.dataset.step === wanted, step);
    seen.moments.push(await shown(page));
  }
  for (const [look, viewport] of Object.entries(LOOKS)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      seen.violations.push(...found.violations.map(({ id, nodes }) => `${look} ${colorScheme} ${id}: ${nodes[0].failureSummary}`));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.violations.push(`${look} is too wide`);
      await page.evaluate(() => document.getElementById('steps').scrollIntoView());
      if (folder !== '-') await page.screenshot({ path: `${folder}/steps-${look}-${colorScheme}.png` });
    }
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
