/** What a call can be kept as, made in the browser from what the page saw: the transcript, the events, the times. */

import { fill, words } from './words.js';

/** @typedef {import('./call-log.js').CallLog} CallLog */

const AGAIN_MS = 1_000;
const MAX_TRIES = 12;

/** What was said, a line each, as text. @param {CallLog} log */
export function transcriptOf(log) {
  const lines = log.lines.map((line) => {
    const name = { caller: words.captions.you, agent: line.name || words.captions.agent, tool: '·' }[line.who];
    const cut = line.unheard ? ` [${words.captions.notSaid} ${line.unheard}]` : '';
    return `[${clock(line.at_ms)}] ${name}: ${line.text}${cut}`;
  });
  return `${[log.agent, log.id, log.began.toISOString()].filter(Boolean).join(', ')}\n\n${lines.join('\n')}\n`;
}

/** Every event as a line of JSON. @param {CallLog} log */
export function eventsOf(log) {
  return log.events.map((seen) => `${JSON.stringify(seen)}\n`).join('');
}

/** A row of numbers a turn, as CSV. @param {CallLog} log */
export function timesOf(log) {
  const parts = [...new Set(log.turns.flatMap((turn) => turn.wait.map((piece) => piece.part)))];
  const head = ['turn', 'typed', 'wait_ms', 'voice_to_voice_ms', 'voice_to_voice_limit_ms', 'barge_in_stop_ms', 'missed', ...parts.map((part) => `${part}_ms`)];
  const rows = log.turns.map((turn) => [
    turn.turn, turn.typed, turn.wait_ms, turn.voice_to_voice_ms, turn.voice_to_voice_limit_ms, turn.barge_in_stop_ms, turn.missed.join(' '),
    ...parts.map((part) => turn.wait.filter((piece) => piece.part === part).reduce((sum, piece) => sum + piece.duration_ms, 0)),
  ]);
  return [head, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

/** Have the browser keep a file. @param {string} name @param {Blob} content */
export function save(name, content) {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * The server's recording of a call that is over. The server may still be about to end it.
 * @param {string} id of the call @param {string} key of the server; empty where none is needed
 * @returns {Promise<{name: string, content: Blob}>}
 * @throws {Error} with a line for a person
 */
export async function recordingOf(id, key) {
  const headers = key ? { Authorization: `Bearer ${key}` } : undefined;
  const ask = () => fetch(`/v1/calls/${encodeURIComponent(id)}/recording`, { headers, cache: 'no-store' });
  let response = await ask();
  for (let tries = 1; response.status === 409 && tries < MAX_TRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    response = await ask();
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Error(body.error?.message ?? fill(words.failures.other, { message: response.status }));
  }
  return { name: `${id}${response.headers.get('Content-Type') === 'audio/ogg' ? '.opus' : '.wav'}`, content: await response.blob() };
}

/** @param {number} elapsedMs */
export function clock(elapsedMs) {
  const seconds = Math.max(0, Math.floor(elapsedMs / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** @param {string | number | boolean | null} value */
function cell(value) {
  if (value === null) return '';
  if (typeof value === 'number') return String(Math.round(value * 10) / 10);
  return String(value);
}
