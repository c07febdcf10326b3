// Two pages, one that calls over WebRTC and one over a WebSocket, through a network that is cut and comes back, through a server that
// freezes and goes on, and through one that ends and is followed by another, which takes no call for a while. Without the server's
// process, one page through the network alone. Returns what was shown. URL [SERVER_PID]
import { onlyRelays, state, type } from './calls.mjs';
import { TcpWay, byOwnWays } from './network.mjs';

const FROZEN_UNTIL_MS = 4_000;
const WAYS = ['/v1/realtime/calls', 'WebSocket'];
const REFUSALS = 5;
const LOOK_EVERY_MS = 40;
const WAIT_MS = 60_000;

/** A page in a call, whose microphone is off. */
async function called(browser, address, before) {
  const page = await browser.open(address, { before });
  page.setDefaultTimeout(WAIT_MS);
  await page.evaluate(() => {
    globalThis.states = [];
    new MutationObserver(() => globalThis.states.push(document.body.dataset.state)).observe(document.body, { attributeFilter: ['data-state'] });
  });
  await page.click('#call');
  await state(page, 'live');
  await page.click('#mute');
  return page;
}

async function tellStory(page) {
  const before = await page.locator('#transcript > .agent').count();
  await type(page, 'Tell me a story.');
  await page.waitForFunction((count) => {
    const lines = [...document.querySelectorAll('#transcript > .agent .heard')];
    return lines.length > count && lines.pop().textContent.split(' ').length > 3;
  }, before);
  return before;
}

/** When the page says that something is wrong, on the clock of this process. */
const noticed = (page) => page.evaluate(() => new Promise((resolve) => {
  const box = document.getElementById('problem');
  const check = () => !box.hidden && resolve([performance.timeOrigin + performance.now(), box.innerText]);
  new MutationObserver(check).observe(box, { attributes: true, childList: true });
}));

async function breaks(pages, breaking, mending = () => {}) {
  const before = await Promise.all(pages.map(tellStory));
  const noticing = pages.map(noticed);
  const atMs = Date.now();
  breaking();
  const told = await Promise.all(noticing);
  await Promise.all(pages.map((page) => state(page, 'resuming')));
  const lost = await Promise.all(pages.map((page) => page.evaluate(() => ({
    told: document.getElementById('problem').innerText,
    mark: document.querySelector('#transcript > .agent:last-of-type .broken')?.textContent ?? '',
  }))));
  await mending(atMs);
  return Promise.all(pages.map(async (page, at) => {
    const ended = await page.waitForFunction((count) => {
      const heard = [...document.querySelectorAll('#transcript > .agent .heard')].slice(count).map((line) => line.textContent.trim());
      return document.body.dataset.state === 'live' && heard.at(-1)?.endsWith('asleep.') && {
        heard,
        states: globalThis.states.splice(0),
        problem: document.getElementById('problem').hidden,
        marks: document.querySelectorAll('.broken').length,
        muted: document.getElementById('mute').getAttribute('aria-pressed'),
      };
    }, before[at]);
    return { noticedMs: told[at][0] - atMs, first: told[at][1], ...lost[at], ...await ended.jsonValue() };
  }));
}

/** Each way to take a call up again was refused often, by a server that takes no call yet. It takes calls from now on. */
async function isRefused(tcp) {
  const untilMs = Date.now() + WAIT_MS;
  while (!WAYS.every((way) => tcp.refused[way] >= REFUSALS)) {
    if (Date.now() > untilMs) throw new Error(`the pages gave up: ${JSON.stringify(tcp.refused)}`);
    await new Promise((resolve) => { setTimeout(resolve, LOOK_EVERY_MS); });
  }
  tcp.isRefusing = false;
}

export default async function lost(browser, url, serverPid) {
  const ways = [];
  const tcp = new TcpWay();
  const address = await tcp.open(url);
  const signal = (name) => process.kill(Number(serverPid), name);
  try {
    const pages = [await called(browser, address, (page) => byOwnWays(page, ways))];
    if (serverPid) pages.push(await called(browser, address, onlyRelays));
    const transports = await Promise.all(pages.map((page) => page.isVisible('#transport')));
    const network = await breaks(pages, () => {
      ways.forEach((way) => { way.isCut = true; });
      tcp.cut();
    }, () => {
      ways.forEach((way) => { way.isCut = false; });
      tcp.mend();
    });
    if (!serverPid) return { network };
    const freeze = await breaks(pages, () => signal('SIGSTOP'), async (atMs) => {
      await new Promise((resolve) => { setTimeout(resolve, Math.max(0, FROZEN_UNTIL_MS - (Date.now() - atMs))); });
      signal('SIGCONT');
    });
    const restart = await breaks(pages, () => {
      tcp.isRefusing = true;
      signal('SIGTERM');
    }, () => isRefused(tcp));
    return { network, freeze, restart, transports };
  } finally {
    ways.forEach((way) => way.close());
    tcp.close();
  }
}
