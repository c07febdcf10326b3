// Opens the built site from the file system and over HTTP, in Chromium, and prints as JSON what a reader finds.
// node built_site.mjs FOLDER SHOTS
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';

const [, , folder, shots] = process.argv;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };
const server = createServer(async (request, response) => {
  try {
    const path = new URL(request.url, 'http://site').pathname;
    const content = await readFile(join(folder, path === '/' ? 'index.html' : path));
    response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/html' }).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const bases = { file: `file://${folder}`, http: `http://127.0.0.1:${server.address().port}` };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
});
const seen = {};
try {
  for (const [kind, base] of Object.entries(bases)) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    const elsewhere = [];
    const errors = [];
    page.on('request', (request) => request.url().startsWith(base) || /^(data|blob):/.test(request.url()) || elsewhere.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('response', (response) => response.status() >= 400 && errors.push(`${response.status()} ${response.url()}`));
    for (const drawn of ['steps', 'architecture', 'index']) {
      await page.goto(`${base}/${drawn}.html`);
      await page.waitForFunction(() => document.querySelector('div.mermaid')?.getBoundingClientRect().height > 50);
    }
    await page.goto(`${base}/reference/voiceagent.tools.html`);
    const reference = await page.locator('article').innerText();
    await page.keyboard.press('/');
    await page.keyboard.type('backchannel');
    const result = page.locator('a[href*="glossary"]:visible', { hasText: /backchannel/i }).first();
    await result.waitFor();
    await page.screenshot({ path: join(shots, `search-${kind}.png`) });
    seen[kind] = { elsewhere, errors, reference };
  }
  const pages = { start: 'index.html', agent: 'agent.html', reference: 'reference/voiceagent.tools.html', sip: 'telephony-sip.html' };
  for (const [name, viewport] of Object.entries({ desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } })) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
      for (const [title, path] of Object.entries(pages)) {
        await page.goto(`${bases.file}/${path}`);
        await page.screenshot({ path: join(shots, `${title}-${name}-${colorScheme}.png`) });
        seen.tooWide = [...(seen.tooWide ?? []), ...await page.evaluate(() => (document.documentElement.scrollWidth > innerWidth ? [location.href] : []))];
      }
    }
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
  server.close();
}
