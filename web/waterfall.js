/** The turns' waterfalls: what the caller waited for, a part per row, from their last word to the first sound of the reply. */

import { element } from './element.js';

/**
 * @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured
 * @typedef {import('./lib/protocol.js').WaitPart} WaitPart
 */

const MAX_TURNS = 50;

/** The parts of a wait, in the order of a turn. @type {Record<string, string>} */
const PARTS = {
  uplink: 'Audio in',
  vad: 'Voice detection',
  endpoint: 'Your pause',
  stt_wait: 'Your words',
  llm_ttft: 'Thinking',
  llm_writing: 'Writing',
  guard: 'Guard',
  tool: 'Tool',
  tts_first_audio: 'Voice',
  held: 'You spoke',
  playout: 'Audio out',
  other: 'Unexplained',
};

/** The stages that have a limit, for those that were over it. @type {Record<string, string>} */
const STAGES = {
  ...PARTS,
  turn_judge: 'Turn over?',
  stt_partial: 'Live captions',
  stt_final: 'Understanding',
  llm_inter_token: 'Per word',
  answer: 'Turn over → first sound',
  voice_to_voice: 'You → agent',
  barge_in_stop: 'Interruption → silence',
};

/** The same for somebody who watches the caller. @type {Record<string, string>} */
const WATCHED = {
  ...STAGES,
  endpoint: 'Caller’s pause',
  stt_wait: 'Caller’s words',
  held: 'Caller spoke',
  voice_to_voice: 'Caller → agent',
};

export class Waterfalls {
  /**
   * @param {HTMLElement} list @param {HTMLElement} empty shown while there is no turn
   * @param {{watched?: boolean}} [how] `watched`: the caller is somebody else
   */
  constructor(list, empty, { watched = false } = {}) {
    this._list = list;
    this._empty = empty;
    this._names = watched ? WATCHED : STAGES;
  }

  /** Begin a call: the turns of earlier calls stay below a line. */
  begin() {
    if (this._list.querySelector('[data-turn]')) this._list.prepend(element('li', { class: 'divider' }, 'Earlier calls'));
  }

  /** @param {TurnMeasured} turn */
  add(turn) {
    this._empty.hidden = true;
    this._list.querySelectorAll('details').forEach((other) => { other.open = false; });
    this._list.prepend(element('li', { 'data-turn': String(turn.turn) }, details(turn, this._names)));
    while (this._list.childElementCount > MAX_TURNS) this._list.lastElementChild?.remove();
  }
}

/** @param {TurnMeasured} turn @param {Record<string, string>} names of the stages */
function details(turn, names) {
  const over = turn.missed.length > 0;
  const verdict = over ? '▲ over budget' : turn.wait_ms === null ? '' : '✓ within budget';
  const summary = element(
    'summary', {},
    element('span', { class: 'name' }, `Turn ${turn.turn}`),
    element('span', { class: 'total' }, turn.wait_ms === null ? 'no sound' : ms(turn.wait_ms)),
    element('span', { class: over ? 'verdict over' : 'verdict' }, verdict),
  );
  const made = element('details', {}, summary);
  if (turn.wait_ms !== null) made.append(table(turn, turn.wait_ms, names));
  made.append(foot(turn, names));
  made.open = true;
  return made;
}

/** @param {TurnMeasured} turn @param {number} waitMs @param {Record<string, string>} names */
function table(turn, waitMs, names) {
  const body = element('tbody');
  let toldMs = 0;
  for (const [part, pieces] of byPart(turn.wait)) {
    const beforeMs = toldMs;
    toldMs += pieces.reduce((sum, piece) => sum + piece.duration_ms, 0);
    // Whole figures that add up to the whole wait's.
    body.append(row(part, names[part] ?? part, pieces, waitMs, Math.round(toldMs) - Math.round(beforeMs), turn.missed.includes(part)));
  }
  const whole = element('tr', { class: 'whole' }, label(turn.typed ? 'Message → agent' : names.voice_to_voice ?? ''));
  whole.append(element('td', { class: 'ms' }, ms(waitMs)));
  body.append(whole);
  const caption = `The wait in turn ${turn.turn}, in milliseconds from the ${turn.typed ? 'message' : 'caller’s last word'} on`;
  return element(
    'table', { class: 'waterfall' },
    element('caption', { class: 'hidden' }, caption),
    element('colgroup', {}, element('col', { class: 'stage' }), element('col'), element('col', { class: 'duration' })),
    element('thead', { class: 'hidden' }, element('tr', {}, heading('Part'), heading('When'), heading('Duration'))),
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
  return element('tr', over ? { class: 'over' } : {}, name, element('td', {}, track), element('td', { class: 'ms' }, `${sumMs || '<1'} ms`));
}

/** @param {TurnMeasured} turn @param {Record<string, string>} names */
function foot(turn, names) {
  const told = turn.missed.map((stage) => element('p', { class: 'over' }, `▲ ${missed(turn, stage, names)}`));
  if (turn.barge_in_stop_ms !== null && !turn.missed.includes('barge_in_stop')) {
    told.push(element('p', {}, `${names === WATCHED ? 'The caller' : 'You'} interrupted: silent after ${ms(turn.barge_in_stop_ms)}.`));
  }
  if (turn.wait_ms === null) told.unshift(element('p', {}, `No sound of this reply reached ${names === WATCHED ? 'the caller' : 'you'}.`));
  return element('div', { class: 'foot' }, ...told);
}

/** What a stage over its limit took. Its work may have run beside other work, and then is not in the sum. @param {TurnMeasured} turn @param {string} stage @param {Record<string, string>} names */
function missed(turn, stage, names) {
  const name = names[stage] ?? stage;
  const spans = turn.spans.filter((span) => span.stage === stage).sort((a, b) => b.duration_ms - a.duration_ms);
  /** @type {Record<string, [number | null, number | null]>} */
  const wholes = {
    voice_to_voice: [turn.voice_to_voice_ms, turn.voice_to_voice_limit_ms],
    barge_in_stop: [turn.barge_in_stop_ms, turn.barge_in_stop_limit_ms],
  };
  const [tookMs, limitMs] = wholes[stage] ?? [spans[0]?.duration_ms ?? null, spans[0]?.limit_ms ?? null];
  return tookMs === null || limitMs === null ? `${name} was over its limit.` : `${name}: ${ms(tookMs)}, limit ${ms(limitMs)}.`;
}

/** The pieces of each part, in the order of a turn. @param {WaitPart[]} pieces @returns {[string, WaitPart[]][]} */
function byPart(pieces) {
  const order = Object.keys(PARTS);
  /** @type {Map<string, WaitPart[]>} */
  const parts = new Map();
  for (const piece of pieces) parts.set(piece.part, [...(parts.get(piece.part) ?? []), piece]);
  return [...parts].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
}

/** @param {string} text */
function label(text) {
  return element('th', { scope: 'row', colspan: '2' }, text);
}

/** @param {string} text */
function heading(text) {
  return element('th', { scope: 'col' }, text);
}

/** @param {number} value */
function ms(value) {
  return `${Math.round(value).toLocaleString('en')} ms`;
}

/** @param {number} value @param {number} whole */
function percent(value, whole) {
  return `${((100 * value) / Math.max(whole, 1)).toFixed(2)}%`;
}
