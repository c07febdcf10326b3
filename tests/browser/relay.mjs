// Calls from the page in a Chromium that may send no UDP, once by each address of the relay that the server tells. Returns for each the
// kind of the candidate that carried it, how it reaches the relay, and how many transports were offered. URL SCHEME ... (turn, turns)
import { hangUp, state, withoutUdp } from './calls.mjs';

/** Has the page's connection at hand, which knows the relay by one scheme. */
const traced = (scheme) => (page) => page.addInitScript((only) => {
  const Real = globalThis.RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Real {
    constructor(configuration) {
      const iceServers = configuration.iceServers.map((each) => ({ ...each, urls: [each.urls].flat().filter((url) => url.startsWith(`${only}:`)) }));
      super({ ...configuration, iceServers: iceServers.filter((each) => each.urls.length) });
      globalThis.peer = this;
    }
  };
}, scheme);

async function carried(browser, url, scheme) {
  const page = await browser.open(url, { before: traced(scheme) });
  await page.click('#call');
  await state(page, 'live');
  const how = await page.evaluate(async () => {
    for (;;) {
      const stats = await globalThis.peer.getStats();
      const pair = [...stats.values()].find((s) => s.type === 'candidate-pair' && s.nominated && s.bytesReceived > 2000);
      if (!pair) {
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        continue;
      }
      const local = stats.get(pair.localCandidateId);
      const sections = globalThis.peer.localDescription.sdp.split('\r\nm=');
      const transports = sections.filter((section) => section.includes('\r\na=candidate:')).length;
      return { local: local.candidateType, protocol: local.relayProtocol, transports };
    }
  });
  await hangUp(page);
  return how;
}

export default async function relay(plain, url, ...schemes) {
  const browser = withoutUdp(plain);
  const calls = [];
  for (const scheme of schemes) calls.push(await carried(browser, url, scheme));
  return { calls };
}
