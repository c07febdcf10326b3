// Makes one call over WebRTC with OpenAI's Agents SDK on a page in Chromium, and prints what it made of it as JSON.
// node page.mjs WORLD.json
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const { url, key, lines, schema, origin } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection',
  '--disable-features=LocalNetworkAccessChecks', // the page's own server is made up, and Chromium takes it for a public one
];
const SDK = new URL('../../node_modules/@openai/agents-realtime/dist/bundle/', import.meta.url);

/** What the page's own server has. */
function served(path) {
  if (path === '/') return { contentType: 'text/html', body: '<!doctype html><title>Shop</title><link rel="icon" href="data:,">' };
  const file = path === '/conversation.mjs' ? new URL('conversation.mjs', import.meta.url) : new URL(path.slice(1), SDK);
  return { contentType: 'text/javascript', body: readFileSync(file, 'utf8') };
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGS });
try {
  const page = await browser.newPage();
  await page.route(`${origin}/**`, (route) => route.fulfill(served(new URL(route.request().url()).pathname)));
  await page.goto(`${origin}/`);
  const spoken = Object.fromEntries(Object.entries(lines).map(([name, file]) => [name, readFileSync(file).toString('base64')]));
  const made = await page.evaluate(async ({ server, apiKey, recorded, tool }) => {
    const sdk = await import('/openai-realtime-agents.mjs');
    const { converse } = await import('/conversation.mjs');
    const audio = new AudioContext({ sampleRate: 24_000 });
    const microphone = audio.createMediaStreamDestination();
    const say = (name) => {
      const pcm = new Int16Array(Uint8Array.from(atob(recorded[name]), (one) => one.charCodeAt(0)).buffer);
      const buffer = audio.createBuffer(1, pcm.length, 24_000);
      buffer.copyToChannel(Float32Array.from(pcm, (sample) => sample / 32_768), 0);
      const source = audio.createBufferSource();
      source.buffer = buffer;
      source.connect(microphone);
      source.start();
    };
    const transport = new sdk.OpenAIRealtimeWebRTC({ mediaStream: microphone.stream, baseUrl: `${server}/v1/realtime/calls` });
    return converse(sdk, { transport, connect: { apiKey }, say, schema: tool });
  }, { server: url, apiKey: key, recorded: spoken, tool: schema });
  console.log(JSON.stringify(made));
} finally {
  await browser.close();
}
