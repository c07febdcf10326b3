// Looks at a server and its call on the monitor, in each of its states, and returns what was shown.
// URL SERVER_PID SIGSTOP|SIGKILL KEY CALL SHOTS|-: the signal by which the server is lost at the end
import { Looks, PHONE } from './looks.mjs';

const DESKTOP = { width: 1440, height: 900 }; // where a call stands beside the server

export default async function monitor(browser, url, serverPid, death, key, call, folder) {
  const seen = { shown: {}, requests: [] };
  const looks = new Looks(browser, folder, { sizes: { desktop: DESKTOP, phone: PHONE }, isShared: true });
  const page = await browser.open('about:blank', { axe: true, viewport: DESKTOP });
  page.on('request', (request) => seen.requests.push(request.url()));

  const look = (state) => looks.at(page, `monitor-${state}`);
  const text = async (id) => (await page.innerText(`#${id}`)).replace(/\s+/g, ' ');
  const says = (id, words) => page.waitForFunction(([place, wanted]) => {
    const box = document.getElementById(place);
    return box.checkVisibility() && box.textContent.includes(wanted);
  }, [id, words]);

  async function enter(value) {
    await page.fill('#problem input', value);
    await page.keyboard.press('Enter');
  }

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
  await page.waitForFunction((id) => document.querySelector(`#calls [data-call="${id}"]`)?.textContent.includes(' ms'), call);
  await says('status-text', 'Live');
  seen.shown.problem = await page.isVisible('#problem');
  for (const id of ['alerts', 'budget', 'calls', 'stages', 'ended-none', 'places']) seen.shown[id] = await text(id);
  await look('server');

  await page.focus(`#calls [data-call="${call}"] a`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#turns [data-turn="1"]');
  await page.waitForFunction(() => document.activeElement?.id === 'call-title');
  await page.waitForFunction(() => document.getElementById('call-facts').textContent);
  for (const id of ['call-title', 'call-facts', 'turns', 'events', 'shown']) seen.shown[`call ${id}`] = await text(id);
  seen.shown.address = page.url().replace(url, '');
  await look('call');
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
  await page.reload();
  await says('call-problem', 'The call is over');
  seen.shown.again = await page.locator('#events .kind').allInnerTexts();
  await page.click('#back', { trial: true });
  await page.evaluate(() => { location.hash = 'call=rtc_nobody'; }); // Firefox tells no driver of the end of such a navigation
  await says('call-problem', 'Nothing is known of this call');
  await look('unknown-call');
  await page.setViewportSize(PHONE);
  await page.click('#back');
  await page.waitForFunction(() => document.getElementById('call').hidden);
  await page.setViewportSize(DESKTOP);

  process.kill(Number(serverPid), death);
  await says('problem', 'does not answer');
  seen.shown.lost = await text('problem');
  await look('lost');
  if (death === 'SIGSTOP') {
    process.kill(Number(serverPid), 'SIGCONT');
    await says('status-text', 'Live');
    seen.shown.problemAfterwards = await page.isVisible('#problem');
  }
  return { ...seen, violations: looks.violations };
}
