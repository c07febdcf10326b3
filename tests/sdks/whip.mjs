// Pushes the fake microphone to the server by WHIP, and pulls the agent's voice by WHEP, with npm `whip-whep` in Chromium. Prints the
// energy of the voice, and the statuses of what follows the end, as JSON.
// node whip.mjs URL KEY MICROPHONE
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';

const [, , url, key, microphone] = process.argv;
const CLIENTS = dirname(createRequire(import.meta.url).resolve('whip-whep/package.json'));
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream',
  `--use-file-for-fake-audio-capture=${microphone}%noloop`, '--autoplay-policy=no-user-gesture-required',
  '--allow-loopback-in-peer-connection',
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });
try {
  const page = await (await browser.newContext({ permissions: ['microphone'] })).newPage();
  page.setDefaultTimeout(60_000);
  await page.route('**/clients/*.js', async (route) => {
    const body = await readFile(join(CLIENTS, route.request().url().split('/').pop()), 'utf8');
    await route.fulfill({ contentType: 'text/javascript', body });
  });
  await page.goto(url);
  const made = await page.evaluate(async ([key]) => {
    const { WHIPClient } = await import('/clients/whip.js');
    const { WHEPClient } = await import('/clients/whep.js');
    const connected = (peer) => new Promise((resolve) => {
      const look = () => peer.connectionState === 'connected' && resolve();
      peer.addEventListener('connectionstatechange', look);
      look();
    });
    const [track] = (await navigator.mediaDevices.getUserMedia({ audio: true })).getAudioTracks();
    const pushing = new RTCPeerConnection();
    pushing.addTransceiver(track, { direction: 'sendonly' });
    const whip = new WHIPClient();
    await whip.publish(pushing, new URL('/whip', location), key);
    await connected(pushing);
    const pulling = new RTCPeerConnection();
    pulling.addTransceiver('audio', { direction: 'recvonly' });
    const whep = new WHEPClient();
    await whep.view(pulling, new URL('/whep', location), key);
    await connected(pulling);
    const speaker = new Audio();  // Chromium decodes nothing that nobody plays
    speaker.srcObject = new MediaStream([pulling.getReceivers()[0].track]);
    await speaker.play();
    let energy = 0;
    while (energy < 0.001) {
      await new Promise((resolve) => { setTimeout(resolve, 100); });
      energy = [...(await pulling.getStats()).values()].find((one) => one.type === 'inbound-rtp')?.totalAudioEnergy ?? 0;
    }
    const [pushed, pulled] = [whip.resourceURL, whep.resourceURL];
    await whep.stop();
    await whip.stop();
    const again = (address) => fetch(address, { method: 'DELETE', headers: { Authorization: `Bearer ${key}` } });
    let hungUp = await again(pushed);
    while (hungUp.status !== 404) hungUp = await again(pushed);
    return { energy, pulled: (await again(pulled)).status };
  }, [key]);
  console.log(JSON.stringify(made));
} finally {
  await browser.close();
}
