// Makes one call over WebRTC with OpenAI's Agents SDK on a page, and returns what it made of it. WORLD.json
import { readFileSync } from 'node:fs';

const SDK = new URL('../../node_modules/@openai/agents-realtime/dist/bundle/', import.meta.url);

/** What the page's own server has. */
function served(path) {
  if (path === '/') return { contentType: 'text/html', body: '<!doctype html><title>Shop</title><link rel="icon" href="data:,">' };
  const file = path === '/conversation.mjs' ? new URL('conversation.mjs', import.meta.url) : new URL(path.slice(1), SDK);
  return { contentType: 'text/javascript', body: readFileSync(file, 'utf8') };
}

export default async function calls(browser, file) {
  const { url, key, lines, schema, origin } = JSON.parse(readFileSync(file, 'utf8'));
  const page = await browser.open(`${origin}/`, { before: (opened) => opened.route(
    `${origin}/**`, (route) => route.fulfill(served(new URL(route.request().url()).pathname)),
  ) });
  const spoken = Object.fromEntries(Object.entries(lines).map(([name, file]) => [name, readFileSync(file).toString('base64')]));
  return page.evaluate(async ({ server, apiKey, recorded, tool }) => {
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
}
