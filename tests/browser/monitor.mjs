// Looks at a server and its call on the monitor in Chromium, in each of its states, on a desktop and a telephone, by day and by night,
// has axe look for what keeps people out, and prints what was shown as JSON. node monitor.mjs URL SERVER_PID KEY CALL SHOTS|-
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [, , url, serverPid, key, call, folder] = process.argv;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const LOOKS = { desktop: { width: 1440, height: 900 }, phone: { width: 375, height: 720 } };
const seen = { violations: [], errors: [], shown: {}, requests: [] };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
});

const page = await (await browser.newContext({ viewport: LOOKS.desktop })).newPage();
page.setDefaultTimeout(20_000);
page.on('pageerror', (error) => seen.errors.push(error.message));
page.on('request', (request) => seen.requests.push(request.url()));
await page.addInitScript({ path: AXE });

/** Look at the page as it is now; `all`: as a desktop and a telephone by day and by night, else as one of each. */
async function look(state, all = false) {
  for (const [name, viewport] of Object.entries(LOOKS)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of all ? ['light', 'dark'] : [name === 'phone' ? 'dark' : 'light']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      seen.violations.push(...found.violations.map(({ id, nodes }) => `${state} ${name} ${colorScheme} ${id}: ${nodes[0].target} ${nodes[0].failureSummary}`));
      if (folder !== '-') await page.screenshot({ path: `${folder}/monitor-${state}-${name}-${colorScheme}.png`, fullPage: name === 'phone' });
    }
    const cut = await page.evaluate(() => [...document.querySelectorAll('td, th, dd, .what, .brand span')]
      .filter((part) => part.checkVisibility() && part.textContent && part.clientWidth > 1 && part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent));
    seen.violations.push(...cut.map((part) => `${state} ${name}: ${part} is cut`));
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.violations.push(`${state} is too wide on a ${name}`);
  }
  await page.setViewportSize(LOOKS.desktop);
}

const text = async (id) => (await page.innerText(`#${id}`)).replace(/\s+/g, ' ');
const says = (id, words) => page.waitForFunction(([place, wanted]) => {
  const box = document.getElementById(place);
  return box.checkVisibility() && box.textContent.includes(wanted);
}, [id, words]);

async function enter(value) {
  await page.fill('#problem input', value);
  await page.keyboard.press('Enter');
}

try {
  await page.goto(`${url}/monitor#call=${call}`);
  await says('problem', 'wants a key');
  await look('missing-key');
  await enter('no-key-of-this-server');
  await says('problem', 'does not know this key');
  await page.route('**/v1/voiceagent/monitor', (route) => route.fulfill({
    status: 403, json: { error: { message: 'Only …', type: 'invalid_request_error', code: 'monitor_only', param: null } } }), { times: 1 });
  await enter(key);
  await says('problem', 'may not look at calls');
  await look('client-key');
  await enter(key);
  await page.waitForSelector('#turns [data-turn="1"]');
  await page.click('#back');
  await page.waitForSelector(`#calls [data-call="${call}"]`);
  await says('status-text', 'Live');
  seen.shown.problem = await page.isVisible('#problem');
  for (const id of ['alerts', 'budget', 'calls', 'stages', 'ended-none', 'places']) seen.shown[id] = await text(id);
  await look('server', true);

  await page.focus(`#calls [data-call="${call}"] a`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#turns [data-turn="1"]');
  await page.waitForFunction(() => document.activeElement?.id === 'call-title');
  await page.waitForFunction(() => document.getElementById('call-facts').textContent);
  for (const id of ['call-title', 'call-facts', 'turns', 'events', 'shown']) seen.shown[`call ${id}`] = await text(id);
  seen.shown.address = page.url().replace(url, '');
  await look('call', true);
  await page.selectOption('#kind', { label: 'tools, steps, values' });
  seen.shown.tools = await page.locator('#events .kind').allInnerTexts();
  await page.selectOption('#kind', '');
  await page.fill('#with', 'PARIS');
  await page.check('#raw');
  seen.shown.found = [await text('shown'), JSON.parse(await page.locator('#events pre').first().innerText())];
  await look('raw');
  await page.fill('#with', '');
  await page.uncheck('#raw');

  await page.click('#hang-up');
  await says('call-problem', 'The call is over: hangup.');
  seen.shown.done = await text('done');
  await page.waitForSelector(`#ended [data-call="${call}"]`);
  await page.waitForFunction(() => document.getElementById('call-actions').hidden);
  seen.shown.ended = await text('ended');
  seen.shown.nobody = await page.isVisible('#calls-none');
  await page.goto(`${url}/monitor#call=${call}`);
  await page.reload();
  await says('call-problem', 'The call is over');
  seen.shown.again = await page.locator('#events .kind').allInnerTexts();
  await page.click('#back', { trial: true });
  await page.goto(`${url}/monitor#call=rtc_nobody`);
  await says('call-problem', 'Nothing is known of this call');
  await look('unknown-call');
  await page.setViewportSize(LOOKS.phone);
  await page.click('#back');
  await page.waitForFunction(() => document.getElementById('call').hidden);
  await page.setViewportSize(LOOKS.desktop);

  process.kill(Number(serverPid), 'SIGSTOP');
  await says('problem', 'does not answer');
  seen.shown.lost = await text('problem');
  process.kill(Number(serverPid), 'SIGCONT');
  await says('status-text', 'Live');
  seen.shown.problemAfterwards = await page.isVisible('#problem');
  process.kill(Number(serverPid), 'SIGKILL');
  await says('problem', 'does not answer');
  await look('lost');
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
