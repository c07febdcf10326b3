// Pushes speech to the server by WHIP, and pulls the agent's voice by WHEP, with npm `whip-whep`. Returns the energy of the voice, and the
// status of what follows the end. URL KEY SPEECH.wav
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const CLIENTS = dirname(createRequire(import.meta.url).resolve('whip-whep/package.json'));

export default async function whip(browser, url, key, speech) {
  const page = await browser.open(url, { speaks: true, before: (opened) => opened.route('**/clients/*.js', (route) => route.fulfill({
    contentType: 'text/javascript', body: readFileSync(join(CLIENTS, route.request().url().split('/').pop()), 'utf8'),
  })) });
  return page.evaluate(async ([token, said]) => {
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
    await whip.publish(pushing, new URL('/whip', location), token);
    await connected(pushing);
    await globalThis.speak(said);
    const pulling = new RTCPeerConnection();
    pulling.addTransceiver('audio', { direction: 'recvonly' });
    const whep = new WHEPClient();
    await whep.view(pulling, new URL('/whep', location), token);
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
    const again = (address) => fetch(address, { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } });
    let hungUp = await again(pushed);
    while (hungUp.status !== 404) hungUp = await again(pushed);
    return { energy, pulled: (await again(pulled)).status };
  }, [key, readFileSync(speech).toString('base64')]);
}
