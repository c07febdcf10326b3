// One conversation with OpenAI's Agents SDK for JavaScript: speech that needs a tool of the server, speech that needs a tool of
// this client, and an interruption. The same over a WebSocket in Node.js and over WebRTC in Chromium.

/**
 * @param {object} sdk the package `@openai/agents-realtime`
 * @param {object} world `transport` and `connect` as the SDK takes them, `say(name)` to speak one of the recorded lines, and
 *   `schema`, the client's tool
 * @returns {Promise<object>} what the SDK made of it
 */
export async function converse(sdk, { transport, connect, say, schema }) {
  const ran = [];
  const { name, description, parameters } = schema;
  const clock = sdk.tool({
    name, description, parameters, strict: false,
    execute: async (input) => {
      ran.push(input);
      return JSON.stringify({ city: input.city, time: '3:45 PM' });
    },
  });
  const agent = new sdk.RealtimeAgent({ name: 'Demo', instructions: 'You are a friendly voice assistant.', tools: [clock] });
  const session = new sdk.RealtimeSession(agent, { transport });
  const events = [];
  const errors = [];
  let interrupted = 0;
  const changed = new EventTarget();
  const change = () => changed.dispatchEvent(new Event('change'));
  session.on('error', ({ error }) => errors.push(error));
  session.on('audio_interrupted', () => { interrupted += 1; change(); });
  session.on('history_updated', change);
  session.transport.on('*', (event) => { events.push(event); change(); });

  /** Wait until something is so. */
  const until = (what, so) => new Promise((resolve, reject) => {
    const look = () => {
      if (!so()) return;
      clearTimeout(late);
      changed.removeEventListener('change', look);
      resolve();
    };
    const late = setTimeout(() => reject(new Error(`no ${what}; ${JSON.stringify(
      { errors, history: session.history, events: events.map((event) => event.type).slice(-30) })}`)), 20_000);
    changed.addEventListener('change', look);
    look();
  });
  const spoken = () => session.history.filter((item) => item.role === 'assistant').map((item) => item.content[0]?.transcript ?? '');
  const done = () => events.filter((event) => event.type === 'response.done').length;
  const settled = () => done() === events.filter((event) => event.type === 'response.created').length;

  await session.connect(connect);
  say('weather');
  await until('weather', () => spoken().some((text) => text.includes('Paris')) && settled());
  say('time');
  await until('time', () => spoken().some((text) => /Tokyo/.test(text)) && settled());
  const before = done();
  session.sendMessage('What can you do?');
  await until('voice', () => events.findLastIndex((event) => ['response.output_audio.delta', 'output_audio_buffer.started']
    .includes(event.type)) > events.findLastIndex((event) => event.type === 'response.done'));
  say('stop');
  await until('interruption', () => done() >= before + 2 && settled());
  const history = session.history;
  session.close();
  return { ran, events, errors, history, interrupted };
}
