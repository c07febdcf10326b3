// Calls the server with more than it serves: video of each codec, a second audio section, and one more video
// section with simulcast. The video comes before the audio, but not with max-bundle: there Chromium itself cannot go on when its first
// section is refused. Returns for each call the sections of the answer, and whether audio and events came
// URL
export default async function video(browser, url) {
  const page = await browser.open(url);
  page.setDefaultTimeout(60_000);
  const calls = await page.evaluate(async () => {
    const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
    const codecs = RTCRtpSender.getCapabilities('video').codecs;
    const names = [...new Set(codecs.map((codec) => codec.mimeType))].filter((name) => !/rtx|red|fec/i.test(name));
    const found = {};
    for (const name of names) {
      for (const bundlePolicy of ['balanced', 'max-bundle']) {
        const peer = new RTCPeerConnection({ bundlePolicy });
        const picture = Object.assign(document.createElement('canvas'), { width: 64, height: 64 });
        picture.getContext('2d').fillRect(0, 0, 9, 9);
        const speak = () => peer.addTrack(microphone.getAudioTracks()[0], microphone);
        if (bundlePolicy === 'max-bundle') speak();
        const video = peer.addTransceiver(picture.captureStream(5).getVideoTracks()[0]);
        video.setCodecPreferences(codecs.filter((codec) => codec.mimeType === name));
        if (bundlePolicy !== 'max-bundle') speak();
        peer.addTransceiver('audio', { direction: 'recvonly' });
        peer.addTransceiver('video', { sendEncodings: [{ rid: 'hi' }, { rid: 'lo', scaleResolutionDownBy: 2 }] });
        const event = new Promise((resolve) => { peer.createDataChannel('oai-events').onmessage = resolve; });
        await peer.setLocalDescription();
        const response = await fetch('/v1/realtime/calls', {
          method: 'POST', headers: { 'Content-Type': 'application/sdp' }, body: peer.localDescription.sdp,
        });
        const sdp = await response.text();
        await peer.setRemoteDescription({ type: 'answer', sdp });
        const first = JSON.parse((await event).data).type;
        let heard = 0;
        while (heard < 5) {
          const stats = [...(await peer.getStats()).values()];
          heard = stats.find((one) => one.type === 'inbound-rtp' && one.kind === 'audio')?.packetsReceived ?? 0;
        }
        found[`${name} ${bundlePolicy}`] = { first, heard, sections: sdp.match(/^m=\S+ \d+/gm), state: peer.connectionState };
        peer.close();
      }
    }
    return found;
  });
  return { calls };
}
