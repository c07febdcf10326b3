// Types a call with the inspector open, and returns what it showed, and what kept somebody out of its parts. URL SCREENSHOT_FOLDER|-
import { answers, hangUp, type } from './calls.mjs';
import { Looks } from './looks.mjs';

export default async function inspector(browser, url, folder) {
  const looks = new Looks(browser, folder, { isShared: true });
  const tokens = [], taken = [];
  const page = await browser.open(url, { microphone: false, permissions: ['clipboard-read', 'clipboard-write'], axe: true });
  const look = (name) => looks.at(page, `inspector-${name}`);
  const tab = (name) => page.click(`#tab-${name}`);
  const rows = () => page.$$eval('.inspected li code', (found) => found.map((code) => code.textContent));

  await page.exposeFunction('token', (token) => tokens.push(token));
  await page.exposeFunction('taken', (tool) => taken.push(tool));
  await page.evaluate(async () => {
    const { VoiceAgent } = await import('./lib/voiceagent.js');
    const { _receive } = VoiceAgent.prototype;
    VoiceAgent.prototype._receive = function receive(text, from) {
      const event = JSON.parse(text);
      if (event.type === 'voiceagent.resume') globalThis.token(event.token);
      const since = performance.now();
      const received = _receive.call(this, text, from);
      if (event.type === 'voiceagent.tool') globalThis.taken({ status: event.status, since, until: performance.now() });
      return received;
    };
  });
  await page.click('#inspect');
  await type(page, 'Book a table.');
  await answers(page, 'Your table is booked.');
  const both = await rows();
  await page.selectOption('#panel-events select', 'sent');
  const sent = await rows();
  await page.selectOption('#panel-events select', 'both');
  await page.fill('#panel-events input[type="text"]', 'book_table');
  const filtered = await rows();
  await page.click('.inspected li:last-child summary');
  const opened = JSON.parse(await page.innerText('.inspected li:last-child pre'));
  await page.click('.inspected li:last-child button');
  await page.waitForFunction(() => document.querySelector('.inspected li:last-child button').textContent === 'Copied.');
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  await look('events');
  await page.fill('#panel-events input[type="text"]', '');
  await page.uncheck('#panel-events .filters label:nth-of-type(3) input');
  await page.click('#panel-events .filters button >> nth=0');
  await page.waitForFunction(() => document.querySelector('#panel-events .filters button').textContent === 'Copied.');
  const all = await page.evaluate(() => navigator.clipboard.readText());

  await tab('tools');
  const tools = await page.innerText('.tool-times tbody');
  await look('tools');

  await tab('prompts');
  await page.check('#panel-prompts input');
  await page.waitForFunction(() => document.querySelector('#panel-prompts [role="status"]').textContent === 'The next prompt comes here.');
  await type(page, 'Two.');
  await page.waitForSelector('.prompts dd');
  const prompt = await page.$$eval('.prompts > li:first-child .messages > *', (parts) => parts.map((part) => part.textContent));
  await answers(page, 'I know Book a table. Two.');
  await look('prompts');

  await tab('settings');
  await page.fill('#panel-settings textarea', 'Be brief, please.');
  await page.selectOption('#panel-settings select', 'silence');
  await page.fill('#panel-settings input[type="number"] >> nth=0', '700');
  await page.getByLabel('Answer in writing').check();
  const told = () => page.innerText('#panel-settings [role="status"]');
  await page.click('#panel-settings [type="submit"]');
  await page.waitForFunction(() => document.querySelector('#panel-settings [role="status"]').textContent === 'Applied.');
  await look('settings');
  await page.click('#panel-settings [type="submit"]');
  const again = await told();
  await page.fill('#panel-settings textarea', 'x'.repeat(16_000));
  await page.evaluate(() => { document.querySelector('#panel-settings textarea').value += 'x'; });
  await page.click('#panel-settings [type="submit"]');
  await page.waitForFunction(() => /16/.test(document.querySelector('#panel-settings [role="status"]').textContent));
  const refused = await told();
  await tab('prompts');
  await type(page, 'Three.');
  await page.waitForFunction(() => document.querySelector('.prompts dd')?.textContent.startsWith('Be brief'));
  await answers(page, 'I know Book a table. Two. Three.');
  await page.route('**/v1/calls/*/prompts', (route) => route.fulfill({
    status: 403, json: { error: { message: 'Only an operator may see prompts.', code: 'operator_only' } },
  }));
  await page.uncheck('#panel-prompts input');
  await page.check('#panel-prompts input');
  await page.waitForFunction(() => document.querySelector('#panel-prompts [role="status"]').textContent);
  const notShown = await page.innerText('#panel-prompts [role="status"]');

  const bound = await page.evaluate(async () => {
    const { EventLog } = await import('./event-log.js');
    const log = new EventLog();
    for (let number = 0; number < 5_000; number += 1) log.add({ type: 'x', number }, false);
    const { length } = log.events;
    for (let number = 0; number < 100; number += 1) log.add({ type: 'x', text: 'y'.repeat(100_000) }, false);
    return { length, characters: log.events.reduce((sum, event) => sum + event.text.length, 0), dropped: log.dropped };
  });
  await hangUp(page);
  return {
    both, sent, filtered, opened, copied, all, tools, prompt, again, refused, notShown, bound, tokens, taken, violations: looks.violations,
  };
}
