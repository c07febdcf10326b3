// Makes a call from the page in the package's README, with the package as npm unpacks it. Returns what it shows.
// FOLDER (with index.html and node_modules) MICROPHONE.wav
import { existsSync, readFileSync } from 'node:fs';

const ORIGIN = 'http://localhost:8443';

/** Has the folder's files at the address. */
const served = (folder) => (page) => page.route(`${ORIGIN}/**`, (route) => {
  const { pathname } = new URL(route.request().url());
  const file = `${folder}${pathname === '/' ? '/index.html' : pathname}`;
  if (!existsSync(file)) return route.fulfill({ status: 404 });
  return route.fulfill({ contentType: file.endsWith('.js') ? 'text/javascript' : 'text/html', body: readFileSync(file) });
});

export default async function packaged(browser, folder, microphone) {
  const page = await browser.having(`--use-file-for-fake-audio-capture=${microphone}`).open(ORIGIN, { before: served(folder) });
  await page.click('#call');
  await page.waitForFunction(() => /Paris/.test(document.getElementById('agent').textContent));
  return { caller: await page.innerText('#caller'), agent: await page.innerText('#agent') };
}
