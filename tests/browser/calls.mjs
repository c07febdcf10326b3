// What the programs beside this file do with a call on the page.

/** @param {any} page @param {string} wanted */
export const state = (page, wanted) => page.waitForFunction((value) => document.body.dataset.state === value, wanted);

/** Wait until a problem is shown. @param {any} page @param {string} code */
export const problem = (page, code) => page.waitForFunction((wanted) => {
  const box = document.getElementById('problem');
  return !box.hidden && box.dataset.code === wanted;
}, code);

/** Wait until a line of the agent has ended. @param {any} page @param {string} [wanted] a part of it */
export const answered = (page, wanted = '') => page.waitForFunction((part) => document.getElementById('status').dataset.status === 'listening'
  && [...document.querySelectorAll('.agent .words')].pop()?.textContent.includes(part), wanted);

/** Wait until the agent's newest line is this, and has ended. @param {any} page @param {string} line */
export const answers = (page, line) => page.waitForFunction((wanted) => document.getElementById('status').dataset.status === 'listening'
  && [...document.querySelectorAll('#transcript > .agent .heard')].pop()?.textContent.trim() === wanted, line);

/** @param {any} page @param {string} line */
export async function type(page, line) {
  await page.fill('#message', line);
  await page.keyboard.press('Enter');
}

/** @param {any} page */
export async function hangUp(page) {
  await page.click('#call');
  await state(page, 'idle');
}

/** Lets no call of a page go by UDP or TCP: it goes over the WebSocket. @param {any} page */
export const onlyRelays = (page) => page.addInitScript(() => {
  const Peer = globalThis.RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Peer {
    constructor(configuration) { super({ ...configuration, iceTransportPolicy: 'relay' }); }
  };
});

/** Chromium that sends UDP to no network. @param {import('./browser.mjs').Browser} browser */
export const withoutUdp = (browser) => browser.having('--webrtc-ip-handling-policy=disable_non_proxied_udp', '--ignore-certificate-errors');
