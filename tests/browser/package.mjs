// Makes a call from the page in the package's README, with the package as npm unpacks it. Prints what it shows as JSON.
// node package.mjs FOLDER (with index.html and node_modules) MICROPHONE.wav
import { existsSync, readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [, , folder, microphone] = process.argv;
const ORIGIN = 'http://localhost:8443';
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${microphone}`, '--autoplay-policy=no-user-gesture-required',
  '--allow-loopback-in-peer-connection', '--disable-features=LocalNetworkAccessChecks',
] });
try {
  const page = await (await browser.newContext({ permissions: ['microphone'] })).newPage();
  page.setDefaultTimeout(30_000);
  await page.route(`${ORIGIN}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    const file = `${folder}${pathname === '/' ? '/index.html' : pathname}`;
    if (!existsSync(file)) return route.fulfill({ status: 404 });
    return route.fulfill({ contentType: file.endsWith('.js') ? 'text/javascript' : 'text/html', body: readFileSync(file) });
  });
  await page.goto(ORIGIN);
  await page.click('#call');
  await page.waitForFunction(() => /Paris/.test(document.getElementById('agent').textContent));
  console.log(JSON.stringify({ caller: await page.innerText('#caller'), agent: await page.innerText('#agent') }));
  await page.click('#call');
} finally {
  await browser.close();
}
