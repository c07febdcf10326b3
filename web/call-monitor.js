/** One call on the monitor: its events as they come, what can be done about it, and its turns' waterfalls. */

import { byId, element } from './element.js';
import { follow } from './server-events.js';
import { Waterfalls } from './waterfall.js';

/** @typedef {{type: string, number?: number, at_ms: number} & Record<string, any>} CallEvent */

const MAX_SHOWN = 500;
const PROGRESS = new Set(['caller.partial', 'agent.text', 'agent.heard']);
/** Fields that the line of an event does not repeat. */
const HIDDEN = new Set(['type', 'number', 'at_ms', 'stages_ms', 'wait', 'wait_ms', 'typed', 'utterance', 'reply', 'tool_call']);
/** @type {Record<string, string>} */
const CLOSED = {
  too_slow: 'This page did not read in time.',
  lost: 'The server of this call went down.',
  server_stopping: 'The server is stopping.',
  store_failed: 'The store of calls cannot be read; the server’s log says why.',
  key_revoked: 'The key was revoked.',
};

export class CallMonitor {
  /** @param {() => string} key */
  constructor(key) {
    this._key = key;
    this._id = '';
    /** @type {CallEvent[]} newest last */
    this._events = [];
    this._dropped = 0;
    this._following = new AbortController();
    this._list = byId('events', HTMLElement);
    this._turns = new Waterfalls(byId('turns', HTMLElement), byId('turns-none', HTMLElement), { watched: true });
    this._kind = byId('kind', HTMLSelectElement);
    this._with = byId('with', HTMLInputElement);
    this._raw = byId('raw', HTMLInputElement);
    for (const filter of [this._kind, this._with, this._raw]) filter.addEventListener('input', () => this._showAll());
    byId('filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
    byId('hang-up', HTMLElement).addEventListener('click', () => this._end('DELETE', '/v1/realtime/calls/', ''));
    byId('leave', HTMLElement).addEventListener('click', () => this._end('POST', '/v1/calls/', '/end'));
  }

  get id() { return this._id; }

  /** Show another call, or none. @param {string} id */
  open(id) {
    this._following.abort();
    this._following = new AbortController();
    this._id = id;
    this._events = [];
    this._dropped = 0;
    byId('turns', HTMLElement).replaceChildren();
    byId('turns-none', HTMLElement).hidden = false;
    byId('done', HTMLElement).textContent = '';
    byId('call-facts', HTMLElement).textContent = '';
    byId('call-title', HTMLElement).textContent = `Call ${id}`;
    byId('call', HTMLElement).hidden = !id;
    byId('call-actions', HTMLElement).hidden = true;
    this._progress('');
    this._tell('');
    this._showAll();
    document.body.dataset.view = id ? 'call' : 'server';
    if (!id) return;
    const { signal } = this._following;
    follow(`/v1/calls/${encodeURIComponent(id)}/events`, {
      key: this._key(),
      signal,
      take: (event) => this._take(event),
      told: (state, problem, status) => {
        if (signal.aborted) return;
        if (state === 'lost') this._tell('The server does not answer. Trying again …');
        else if (state === 'refused') this._refused(status ?? 0, problem?.message ?? '');
        else this._tell('');
      },
    });
  }

  /** What the server tells of the call now; undefined once it is over. @param {Record<string, any> | undefined} call */
  showFacts(call) {
    byId('call-actions', HTMLElement).hidden = !call?.may_end;
    if (!call) return;
    const said = [call.leg, call.caller && `from ${call.caller}`, call.agent, call.language, call.step && `step ${call.step}`, call.state];
    byId('call-facts', HTMLElement).textContent = said.filter(Boolean).join(' · ');
  }

  /** @param {CallEvent} event */
  _take(event) {
    if (event.type === 'monitor.closed') {
      const isGone = event.reason === 'lost';
      if (isGone) this._following.abort();
      this._tell(`${CLOSED[event.reason] ?? event.reason}${isGone ? '' : ' Trying again …'}`);
      return;
    }
    if (PROGRESS.has(event.type)) {
      const who = event.type === 'caller.partial' ? 'Caller' : 'Agent';
      const words = event.type === 'caller.partial' ? `${event.stable} ${event.unstable}` : event.text ?? event.heard;
      this._progress(words.trim() ? `${who}: ${words.trim()} …` : '');
      return;
    }
    if (/^(caller\.said|agent\.said|call\.ended)$/.test(event.type)) this._progress('');
    if (event.type === 'call.ended') {
      this._tell(`The call is over: ${event.reason}.`);
      byId('call-actions', HTMLElement).hidden = true;
      this._following.abort();
    }
    if (event.type === 'turn.measured') this._turns.add(asTurn(event));
    this._events.push(event);
    if (this._events.length > MAX_SHOWN) {
      this._events.shift();
      this._dropped += 1;
    }
    if (this._fits(event)) {
      this._list.prepend(this._row(event));
      if (this._list.childElementCount > MAX_SHOWN) this._list.lastElementChild?.remove();
    }
    this._count();
  }

  /** @param {CallEvent} event */
  _fits(event) {
    const kinds = this._kind.value ? this._kind.value.split('|') : [];
    if (kinds.length && !kinds.includes(group(event))) return false;
    const wanted = this._with.value.trim().toLowerCase();
    return !wanted || JSON.stringify(event).toLowerCase().includes(wanted);
  }

  /** @param {CallEvent} event */
  _row(event) {
    const made = element(
      'li', {},
      element('time', {}, seconds(event.at_ms)),
      element('span', { class: 'kind', 'data-of': group(event) }, event.type),
      element('span', { class: 'what' }, line(event)),
    );
    if (this._raw.checked) made.append(element('pre', {}, JSON.stringify(event, null, 1)));
    return made;
  }

  _showAll() {
    const fitting = this._events.filter((event) => this._fits(event));
    this._list.replaceChildren(...fitting.reverse().map((event) => this._row(event)));
    this._count();
  }

  _count() {
    const shown = this._list.childElementCount;
    const all = this._events.length;
    const told = shown === all ? `${all} events` : `${shown} of ${all} events`;
    byId('shown', HTMLElement).textContent = this._dropped ? `${told}; ${this._dropped} earlier ones are not shown` : told;
  }

  /** @param {string} text */
  _progress(text) {
    const line = byId('progress', HTMLElement);
    line.textContent = text;
    line.hidden = !text;
  }

  /** @param {string} text */
  _tell(text) {
    const box = byId('call-problem', HTMLElement);
    box.textContent = text;
    box.hidden = !text;
  }

  /** @param {number} status @param {string} message */
  _refused(status, message) {
    if (status === 404) this._tell('Nothing is known of this call: it is over and was not kept, or never was.');
    else if (status === 403) this._tell('This key may not read what is said in calls. A monitor’s key may.');
    else this._tell(message);
  }

  /** @param {string} method @param {string} before @param {string} behind */
  async _end(method, before, behind) {
    const told = byId('done', HTMLElement);
    const key = this._key();
    try {
      const response = await fetch(`${before}${encodeURIComponent(this._id)}${behind}`, {
        method,
        headers: key ? { Authorization: `Bearer ${key}` } : {},
      });
      if (response.status === 404) told.textContent = 'The call is over already.';
      else if (!response.ok) told.textContent = 'The server refused that: this key may not end the call.';
      else told.textContent = behind ? 'The agent says goodbye as soon as it can.' : 'The call is being ended.';
    } catch {
      told.textContent = 'The server does not answer, so the call goes on. Try again.';
    }
  }
}

/** @param {CallEvent} event */
function group(event) {
  return event.type.split('.')[0] ?? '';
}

/** @param {number} ms */
function seconds(ms) {
  return ms === undefined ? '' : `${(ms / 1000).toFixed(2)} s`;
}

/** The fields of an event in one line. @param {CallEvent} event */
function line(event) {
  if (event.type === 'turn.measured') {
    const over = Object.keys(event.missed_ms ?? {});
    const waited = event.voice_to_voice_ms === null ? 'no sound' : `${Math.round(event.voice_to_voice_ms)} ms`;
    return `turn ${event.turn}: ${waited}${over.length ? `, over budget: ${over.join(', ')}` : ''}`;
  }
  if (event.type === 'monitor.gap') return `events ${event.first} to ${event.last} are not kept`;
  const fields = Object.entries(event).filter(([name, value]) => !HIDDEN.has(name) && value !== '' && value !== null);
  const spoken = event.text ?? event.heard;
  if (spoken) return `“${spoken}”${event.unheard ? ` (not heard: “${event.unheard}”)` : ''}${event.status && event.status !== 'completed' ? ` ${event.status}` : ''}`;
  return fields.map(([name, value]) => `${name} ${shown(value)}`).join(', ');
}

/** @param {unknown} value */
function shown(value) {
  if (typeof value === 'number') return String(Math.round(value * 10) / 10);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** An event of a measured turn as the page's own. @param {CallEvent} event @returns {import('./lib/protocol.js').TurnMeasured} */
function asTurn(event) {
  const limits = event.missed_ms ?? {};
  /** @type {[string, number, number][]} */
  const pieces = event.wait ?? stacked(event.wait_ms ?? {});
  return {
    type: 'voiceagent.turn',
    turn: event.turn,
    spans: Object.entries(event.stages_ms).flatMap(([stage, durations]) => durations.map((/** @type {number} */ ms) => (
      { stage, start_ms: 0, duration_ms: ms, limit_ms: limits[stage] ?? null, ok: !(stage in limits) }))),
    voice_to_voice_ms: event.voice_to_voice_ms,
    voice_to_voice_limit_ms: limits.voice_to_voice ?? null,
    barge_in_stop_ms: event.barge_in_stop_ms,
    barge_in_stop_limit_ms: limits.barge_in_stop ?? null,
    missed: Object.keys(limits),
    wait_ms: pieces.length ? pieces.reduce((sum, [, , ms]) => sum + ms, 0) : null,
    wait: pieces.map(([part, startMs, ms]) => ({ part, start_ms: startMs, duration_ms: ms })),
    typed: event.typed ?? false,
  };
}

/** The parts of a wait whose times are not kept, one behind the other. @param {Record<string, number>} totals @returns {[string, number, number][]} */
function stacked(totals) {
  let startMs = 0;
  return Object.entries(totals).map(([part, ms]) => {
    startMs += ms;
    return [part, startMs - ms, ms];
  });
}
