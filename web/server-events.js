/** Server-Sent Events with a key, which an EventSource cannot send, and again after each lost connection. */

import { problemFrom } from './lib/problem.js';

const AGAIN_MS = [500, 1_000, 2_000, 5_000];
/** A server sends something at least every 15 seconds, if only a comment. */
const SILENT_MS = 20_000;
/** Answers that do not change by asking again. */
const FINAL = new Set([400, 401, 403, 404]);

/**
 * @typedef {(state: 'live' | 'lost' | 'over' | 'refused', problem?: import('./lib/problem.js').CallProblem, status?: number) => void} Told
 *   `lost`: it is tried again; `over`: the server has said all; `refused`: it is not tried again
 */

/**
 * Follow a stream until it is over or `signal` ends it.
 * @param {string} path
 * @param {{key: string, signal: AbortSignal, take: (event: any) => void, told: Told, silentMs?: number}} how
 */
export async function follow(path, { key, signal, take, told, silentMs = SILENT_MS }) {
  let last = '';
  let failures = 0;
  const isOver = () => signal.aborted;
  while (!isOver()) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener('abort', stop);
    let silence = setTimeout(stop, silentMs);
    try {
      /** @type {Record<string, string>} */
      const headers = { Accept: 'text/event-stream' };
      if (key) headers.Authorization = `Bearer ${key}`;
      if (last) headers['Last-Event-ID'] = last;
      const response = await fetch(path, { headers, signal: attempt.signal, cache: 'no-store' });
      if (response.status === 204) return told('over');
      if (!response.ok) {
        const problem = await problemFrom(response, key !== '');
        if (FINAL.has(response.status)) return told('refused', problem, response.status);
        throw problem;
      }
      told('live');
      for await (const { id, data } of messages(response)) {
        clearTimeout(silence);
        silence = setTimeout(stop, silentMs);
        failures = 0;
        if (id) last = id;
        if (data && !isOver()) take(JSON.parse(data));
      }
    } catch (error) {
      if (isOver()) return undefined;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener('abort', stop);
    }
    if (isOver()) return undefined;
    told('lost');
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS[Math.min(failures++, AGAIN_MS.length - 1)]));
  }
  return undefined;
}

/**
 * The messages of an answer, each with its id; a comment has neither id nor data.
 * @param {Response} response
 */
async function* messages(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (/** @type {string} */ name) => lines.find((line) => line.startsWith(name))?.slice(name.length) ?? '';
      yield { id: field('id: '), data: field('data: ') };
    }
  }
}
