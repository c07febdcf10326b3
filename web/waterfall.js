/** The turns' waterfalls: what the caller waited for, a part per row, from their last word to the first sound of the reply. */

import { element } from './element.js';
import { fill, milliseconds, words } from './words.js';

/**
 * @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured
 * @typedef {import('./lib/protocol.js').WaitPart} WaitPart
 */

const MAX_TURNS = 50;

/** The parts of a wait, in the order of a turn. @type {readonly string[]} */
const PARTS = [
  'uplink', 'vad', 'endpoint', 'stt_wait', 'llm_ttft', 'llm_writing', 'guard', 'tool', 'tts_first_audio', 'held', 'playout', 'other',
];

/** What is said otherwise to somebody who watches the caller, in English as the whole monitor. */
const WATCHED = { endpoint: 'Caller’s pause', stt_wait: 'Caller’s words', held: 'Caller spoke', voice_to_voice: 'Caller → agent' };
const WATCHED_TIMES = { silentWhy: 'No sound of this reply reached the caller.', stopped: 'The caller interrupted: silent after {ms}.' };

/** @typedef {{stages: Record<string, string>, times: import('./words.js').Words['times']}} Names */

export class Waterfalls {
  /**
   * @param {HTMLElement} list @param {HTMLElement} empty shown while there is no turn
   * @param {{watched?: boolean}} [how] `watched`: the caller is somebody else
   */
  constructor(list, empty, { watched = false } = {}) {
    this._list = list;
    this._empty = empty;
    this._watched = watched;
  }

  /** Begin a call: the turns of earlier calls stay below a line. */
  begin() {
    if (this._list.querySelector('[data-turn]')) this._list.prepend(element('li', { class: 'divider' }, words.times.earlier));
  }

  /** @returns {Names} */
  _names() {
    if (!this._watched) return words;
    return { stages: { ...words.stages, ...WATCHED }, times: { ...words.times, ...WATCHED_TIMES } };
  }

  /** @param {TurnMeasured} turn */
  add(turn) {
    this._empty.hidden = true;
    this._list.querySelectorAll('details').forEach((other) => { other.open = false; });
    this._list.prepend(element('li', { 'data-turn': String(turn.turn) }, details(turn, this._names())));
    while (this._list.childElementCount > MAX_TURNS) this._list.lastElementChild?.remove();
  }
}

/** @param {TurnMeasured} turn @param {Names} names */
function details(turn, names) {
  const over = turn.missed.length > 0;
  const verdict = over ? names.times.over : turn.wait_ms === null ? '' : names.times.within;
  const summary = element(
    'summary', {},
    element('span', { class: 'name' }, fill(names.times.turn, { turn: turn.turn })),
    element('span', { class: 'total' }, turn.wait_ms === null ? names.times.silent : milliseconds(turn.wait_ms)),
    element('span', { class: over ? 'verdict over' : 'verdict' }, verdict),
  );
  const made = element('details', {}, summary);
  if (turn.wait_ms !== null) made.append(table(turn, turn.wait_ms, names));
  made.append(foot(turn, names));
  made.open = true;
  return made;
}

/** @param {TurnMeasured} turn @param {number} waitMs @param {Names} names */
function table(turn, waitMs, names) {
  const body = element('tbody');
  let toldMs = 0;
  for (const [part, pieces] of byPart(turn.wait)) {
    const beforeMs = toldMs;
    toldMs += pieces.reduce((sum, piece) => sum + piece.duration_ms, 0);
    // Whole figures that add up to the whole wait's.
    body.append(row(part, names.stages[part] ?? part, pieces, waitMs, Math.round(toldMs) - Math.round(beforeMs), turn.missed.includes(part)));
  }
  const whole = element('tr', { class: 'whole' }, label(turn.typed ? names.times.message : names.stages.voice_to_voice));
  whole.append(element('td', { class: 'ms' }, milliseconds(waitMs)));
  body.append(whole);
  const caption = fill(turn.typed ? names.times.captionTyped : names.times.caption, { turn: turn.turn });
  return element(
    'table', { class: 'waterfall' },
    element('caption', { class: 'hidden' }, caption),
    element('colgroup', {}, element('col', { class: 'stage' }), element('col'), element('col', { class: 'duration' })),
    element('thead', { class: 'hidden' }, element('tr', {}, heading(names.times.part), heading(names.times.when), heading(names.times.duration))),
    body,
  );
}

/** @param {string} part @param {string} title @param {WaitPart[]} pieces @param {number} waitMs @param {number} sumMs @param {boolean} over */
function row(part, title, pieces, waitMs, sumMs, over) {
  const track = element('div', { class: 'track' });
  for (const piece of pieces) {
    const bar = element('span', { class: `span ${over ? 'over' : part}` });
    bar.style.left = percent(piece.start_ms, waitMs);
    bar.style.width = percent(piece.duration_ms, waitMs);
    track.append(bar);
  }
  const name = element('th', { scope: 'row' }, `${title}${pieces.length > 1 ? ` ×${pieces.length}` : ''}`);
  return element('tr', over ? { class: 'over' } : {}, name, element('td', {}, track), element('td', { class: 'ms' }, sumMs ? milliseconds(sumMs) : '<1 ms'));
}

/** @param {TurnMeasured} turn @param {Names} names */
function foot(turn, names) {
  const told = turn.missed.map((stage) => element('p', { class: 'over' }, `▲ ${missed(turn, stage, names)}`));
  if (turn.barge_in_stop_ms !== null && !turn.missed.includes('barge_in_stop')) {
    told.push(element('p', {}, fill(names.times.stopped, { ms: milliseconds(turn.barge_in_stop_ms) })));
  }
  if (turn.wait_ms === null) told.unshift(element('p', {}, names.times.silentWhy));
  return element('div', { class: 'foot' }, ...told);
}

/** What a stage over its limit took. Its work may have run beside other work, and then is not in the sum. @param {TurnMeasured} turn @param {string} stage @param {Names} names */
function missed(turn, stage, names) {
  const name = names.stages[stage] ?? stage;
  const spans = turn.spans.filter((span) => span.stage === stage).sort((a, b) => b.duration_ms - a.duration_ms);
  /** @type {Record<string, [number | null, number | null]>} */
  const wholes = {
    voice_to_voice: [turn.voice_to_voice_ms, turn.voice_to_voice_limit_ms],
    barge_in_stop: [turn.barge_in_stop_ms, turn.barge_in_stop_limit_ms],
  };
  const [tookMs, limitMs] = wholes[stage] ?? [spans[0]?.duration_ms ?? null, spans[0]?.limit_ms ?? null];
  if (tookMs === null || limitMs === null) return fill(names.times.missedUnknown, { stage: name });
  return fill(names.times.missed, { stage: name, took: milliseconds(tookMs), limit: milliseconds(limitMs) });
}

/** The pieces of each part, in the order of a turn. @param {WaitPart[]} pieces @returns {[string, WaitPart[]][]} */
function byPart(pieces) {
  /** @type {Map<string, WaitPart[]>} */
  const parts = new Map();
  for (const piece of pieces) parts.set(piece.part, [...(parts.get(piece.part) ?? []), piece]);
  return [...parts].sort(([one], [other]) => PARTS.indexOf(one) - PARTS.indexOf(other));
}

/** @param {string} text */
function label(text) {
  return element('th', { scope: 'row', colspan: '2' }, text);
}

/** @param {string} text */
function heading(text) {
  return element('th', { scope: 'col' }, text);
}

/** @param {number} value @param {number} whole */
function percent(value, whole) {
  return `${((100 * value) / Math.max(whole, 1)).toFixed(2)}%`;
}
