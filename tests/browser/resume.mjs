// Drives the page in Chromium through a call whose network is cut while the agent speaks, until the rest was said over a new
// connection, and prints what was shown as JSON. node resume.mjs URL [restart]: with that, it prints "restart" when it is time for it.
import dgram from 'node:dgram';
import { chromium } from 'playwright-core';

const [, , url, restart] = process.argv;
const CANDIDATE = /a=candidate:\S+ 1 udp \d+ (\d+\.\d+\.\d+\.\d+) (\d+) typ host\r\n/;

/** The way of one connection from the browser to the server, until it is cut. */
class Way {
  async open(host, port) {
    this.front = dgram.createSocket('udp4');
    this.back = dgram.createSocket('udp4');
    await Promise.all([this.front, this.back].map((socket) => new Promise((resolve) => { socket.bind(0, host, resolve); })));
    this.front.on('message', (data, from) => {
      this.browser = from;
      if (!this.isCut) this.back.send(data, port, host);
    });
    this.back.on('message', (data) => { if (!this.isCut && this.browser) this.front.send(data, this.browser.port, this.browser.address); });
    return this.front.address().port;
  }

  close() {
    this.front.close();
    this.back.close();
  }
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
    '--allow-loopback-in-peer-connection',
  ],
});
const ways = [];
const errors = [];
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => errors.push(error.message));
  await page.addInitScript(() => {
    globalThis.states = [];
    new MutationObserver(() => globalThis.states.push(document.body?.dataset.state)).observe(document, {
      attributes: true, subtree: true, attributeFilter: ['data-state'],
    });
  });
  await page.route('**/v1/realtime/calls*', async (route) => {
    const offer = route.request().postData().replace(/a=candidate:.*\r\n/g, '');
    const response = await route.fetch({ postData: offer }).catch(() => null);
    if (response === null) return route.abort();
    const answer = await response.text();
    if (!response.ok()) return route.fulfill({ response });
    const [line, host, port] = CANDIDATE.exec(answer);
    const way = new Way();
    ways.push(way);
    const ours = line.replace(` ${host} ${port} `, ` ${host} ${await way.open(host, Number(port))} `);
    const body = answer.replace(/a=candidate:.*\r\n/g, '').replaceAll('a=end-of-candidates\r\n', `${ours}a=end-of-candidates\r\n`);
    return route.fulfill({ response, body });
  });
  await page.goto(url);
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await page.click('#mute');
  await page.fill('#message', 'Tell me a story.');
  await page.keyboard.press('Enter');
  const words = (count) => page.waitForFunction(
    (least) => [...document.querySelectorAll('.agent .heard')].pop()?.textContent.split(' ').length > least, count,
  );
  await words(3);
  if (restart) console.log('restart');
  else ways.forEach((way) => { way.isCut = true; });
  await page.waitForFunction(() => document.body.dataset.state === 'resuming' && !document.getElementById('problem').hidden);
  const told = await page.innerText('#problem');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  await page.waitForFunction(() => document.querySelector('.agent:last-of-type .heard')?.textContent.endsWith('asleep.'));
  const seen = await page.evaluate(() => ({
    agent: [...document.querySelectorAll('.agent .words')].map((part) => part.textContent.trim()),
    heard: [...document.querySelectorAll('.agent .heard')].map((part) => part.textContent.trim()),
    states: globalThis.states,
    problem: document.getElementById('problem').hidden ? '' : document.getElementById('problem').innerText,
    muted: document.getElementById('mute').getAttribute('aria-pressed'),
  }));
  console.log(JSON.stringify({ ...seen, told, errors }));
} finally {
  await browser.close();
  ways.forEach((way) => way.close());
}
