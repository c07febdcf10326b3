// Makes a call from the page in a Chromium that may send no UDP, and prints the kind of the candidate that carried it, how it
// reaches the relay, and how many transports were offered, as JSON.
// node relay.mjs URL
import { chromium } from 'playwright-core';

const [, , url] = process.argv;
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp', '--ignore-certificate-errors',
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });
try {
  const page = await (await browser.newContext({ permissions: ['microphone'] })).newPage();
  page.setDefaultTimeout(30_000);
  await page.addInitScript(() => {
    const Real = globalThis.RTCPeerConnection;
    globalThis.RTCPeerConnection = class extends Real {
      constructor(configuration) {
        super(configuration);
        globalThis.peer = this;
      }
    };
  });
  await page.goto(url);
  await page.click('#call');
  await page.waitForFunction(() => document.body.dataset.state === 'live');
  const kinds = await page.evaluate(async () => {
    for (;;) {
      const stats = await globalThis.peer.getStats();
      const pair = [...stats.values()].find((s) => s.type === 'candidate-pair' && s.nominated && s.bytesReceived > 2000);
      if (!pair) continue;
      const local = stats.get(pair.localCandidateId);
      return { local: local.candidateType, protocol: local.relayProtocol, received: pair.bytesReceived };
    }
  });
  const transports = await page.evaluate(
    () => globalThis.peer.localDescription.sdp.split('\r\nm=').filter((section) => section.includes('\r\na=candidate:')).length,
  );
  console.log(JSON.stringify({ ...kinds, transports }));
  await page.click('#call');
} finally {
  await browser.close();
}
