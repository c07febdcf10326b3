// Makes one call over a WebSocket with OpenAI's Agents SDK, and prints what it made of it as JSON.
// node socket.mjs WORLD.json
import { readFileSync } from 'node:fs';
import * as sdk from '@openai/agents-realtime';
import { converse } from './conversation.mjs';

const { url, key, lines, schema } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const transport = new sdk.OpenAIRealtimeWebSocket({ url: `${url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime` });
const PIECE_MS = 50;
const PIECE = 48 * PIECE_MS;

/** A microphone: it never stops, and hears what is said. */
let saying = Buffer.alloc(0);
const say = (name) => { saying = readFileSync(lines[name]); };
const microphone = setInterval(() => {
  if (transport.status !== 'connected') return;
  const piece = new Uint8Array(PIECE);
  piece.set(saying.subarray(0, PIECE));
  saying = saying.subarray(PIECE);
  transport.sendAudio(piece.buffer);
}, PIECE_MS);

const made = await converse(sdk, { transport, connect: { apiKey: key }, say, schema });
clearInterval(microphone);
console.log(JSON.stringify(made));
