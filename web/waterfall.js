/** The turns' waterfalls: a stage per row, from the caller's last word on; a tick marks the limit of each. */

import { element } from './element.js';

/**
 * @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured
 * @typedef {import('./lib/protocol.js').StageSpan} StageSpan
 */

const MAX_TURNS = 50;

/** @type {Record<string, string>} */
const NAMES = {
  uplink: 'Audio in',
  vad: 'Voice detection',
  endpoint: 'Waiting for you',
  turn_judge: 'Turn over?',
  stt_partial: 'Live captions',
  stt_final: 'Understanding',
  stt_wait: 'Waiting for words',
  llm_ttft: 'Thinking',
  llm_inter_token: 'Per word',
  guard: 'Guard',
  tool: 'Tool',
  tts_first_audio: 'Voice',
  playout: 'Audio out',
  answer: 'Your turn over → first sound',
  voice_to_voice: 'You → agent',
  barge_in_stop: 'Interruption → stop',
};

/** Stages that happen beside the way from the caller's last word to the agent's first: told in words below. */
const BESIDE = new Set(['turn_judge', 'stt_partial', 'llm_inter_token', 'guard']);

export class Waterfalls {
  /** @param {HTMLElement} list @param {HTMLElement} empty shown while there is no turn */
  constructor(list, empty) {
    this._list = list;
    this._empty = empty;
  }

  /** @param {TurnMeasured} turn */
  add(turn) {
    this._empty.hidden = true;
    this._list.querySelectorAll('details').forEach((other) => { other.open = false; });
    this._list.prepend(element('li', { 'data-turn': String(turn.turn) }, details(turn)));
    while (this._list.childElementCount > MAX_TURNS) this._list.lastElementChild?.remove();
  }
}

/** @param {TurnMeasured} turn */
function details(turn) {
  const total = turn.voice_to_voice_ms;
  const over = turn.missed.length > 0;
  const verdict = over ? `▲ over budget: ${turn.missed.map(name).join(', ')}` : '✓ within budget';
  const made = element(
    'details', {},
    element(
      'summary', {},
      element('span', { class: 'name' }, `Turn ${turn.turn}`),
      element('span', { class: 'total' }, total === null ? 'not heard' : ms(total)),
      element('span', { class: over ? 'verdict over' : 'verdict' }, verdict),
    ),
    table(turn),
    foot(turn),
  );
  made.open = true;
  return made;
}

/** @param {TurnMeasured} turn */
function table(turn) {
  const shown = turn.spans.filter((span) => !BESIDE.has(span.stage) && span.start_ms + span.duration_ms > 0);
  const ends = shown.map((span) => Math.max(span.start_ms + span.duration_ms, span.start_ms + (span.limit_ms ?? 0)));
  const whole = wholeSpan(turn);
  const scale = Math.max(1, ...ends.map((end) => Math.min(end, 1.5 * (turn.voice_to_voice_ms ?? end))),
    turn.voice_to_voice_ms ?? 0, turn.voice_to_voice_limit_ms ?? 0) * 1.02;
  const body = element('tbody');
  for (const [stage, spans] of byStage(shown)) body.append(row(name(stage), spans, scale, stage === 'endpoint'));
  if (whole) {
    const last = row(name('voice_to_voice'), [whole], scale, false);
    last.classList.add('whole');
    body.append(last);
  }
  const made = element('table', { class: 'waterfall' });
  made.append(
    element('caption', { class: 'hidden' }, `Stages of turn ${turn.turn} in milliseconds from the end of your speech`),
    element('colgroup', {}, element('col', { class: 'stage' }), element('col'), element('col', { class: 'duration' })),
    element('thead', { class: 'hidden' }, element('tr', {}, heading('Stage'), heading('When'), heading('Duration'))),
    body,
  );
  return made;
}

/** @param {string} label @param {StageSpan[]} spans @param {number} scale @param {boolean} waiting */
function row(label, spans, scale, waiting) {
  const longest = spans.reduce((a, b) => (b.duration_ms > a.duration_ms ? b : a));
  const late = spans.some((span) => !span.ok);
  const track = element('div', { class: 'track' });
  for (const span of spans) {
    const bar = element('span', { class: `span${span.ok ? '' : ' over'}${waiting && span.ok ? ' waiting' : ''}` });
    const start = Math.max(0, span.start_ms);
    bar.style.left = percent(start, scale);
    bar.style.width = percent(Math.max(0, span.start_ms + span.duration_ms - start), scale);
    track.append(bar);
  }
  if (longest.limit_ms !== null && longest.start_ms + longest.limit_ms <= scale) {
    const tick = element('span', { class: 'limit', title: `limit ${ms(longest.limit_ms)}` });
    tick.style.left = percent(Math.max(0, longest.start_ms + longest.limit_ms), scale);
    track.append(tick);
  }
  const figure = element('td', { class: 'ms' }, ms(longest.duration_ms));
  if (late && longest.limit_ms !== null) {
    figure.append(element('small', {}, `▲ +${ms(longest.duration_ms - longest.limit_ms)}`));
  }
  const title = spans.length > 1 ? `${label} ×${spans.length}` : label;
  return element('tr', late ? { class: 'over' } : {}, element('th', { scope: 'row' }, title), element('td', {}, track), figure);
}

/** @param {TurnMeasured} turn */
function foot(turn) {
  /** @type {(Node | string)[]} */
  const parts = [];
  for (const [stage, spans] of byStage(turn.spans.filter((span) => BESIDE.has(span.stage)))) {
    const longest = Math.max(...spans.map((span) => span.duration_ms));
    const late = spans.some((span) => !span.ok);
    parts.push(note(`${name(stage)}: ${spans.length > 1 ? `${spans.length} ×, at most ` : ''}${ms(longest)}`, late), '. ');
  }
  if (turn.barge_in_stop_ms !== null) {
    const late = turn.barge_in_stop_limit_ms !== null && turn.barge_in_stop_ms > turn.barge_in_stop_limit_ms;
    parts.push(note(`You interrupted: silent after ${ms(turn.barge_in_stop_ms)}`, late), '. ');
  }
  return element(
    'div', { class: 'foot' },
    ...(parts.length ? [element('p', {}, ...parts)] : []),
    element(
      'p', { class: 'legend' },
      element('span', {}, element('i', {}), 'work'), element('span', {}, element('i', { class: 'wait' }), 'listening for more'),
      element('span', {}, element('i', { class: 'tick' }), 'limit'), element('span', {}, element('i', { class: 'over' }), '▲ over it'),
    ),
  );
}

/** @param {string} text @param {boolean} late */
function note(text, late) {
  return late ? element('span', { class: 'over' }, `▲ ${text}`) : text;
}

/** @param {TurnMeasured} turn @returns {StageSpan | null} */
function wholeSpan(turn) {
  if (turn.voice_to_voice_ms === null) return null;
  const limit = turn.voice_to_voice_limit_ms;
  return {
    stage: 'voice_to_voice', start_ms: 0, duration_ms: turn.voice_to_voice_ms, limit_ms: limit,
    ok: limit === null || turn.voice_to_voice_ms <= limit,
  };
}

/** @param {StageSpan[]} spans @returns {Map<string, StageSpan[]>} */
function byStage(spans) {
  /** @type {Map<string, StageSpan[]>} */
  const stages = new Map();
  for (const span of [...spans].sort((a, b) => a.start_ms - b.start_ms)) {
    stages.set(span.stage, [...(stages.get(span.stage) ?? []), span]);
  }
  return stages;
}

/** @param {string} text */
function heading(text) {
  return element('th', { scope: 'col' }, text);
}

/** @param {string} stage */
function name(stage) {
  return NAMES[stage] ?? stage;
}

/** @param {number} value */
function ms(value) {
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** @param {number} value @param {number} scale */
function percent(value, scale) {
  return `${Math.min(100, (100 * value) / scale).toFixed(2)}%`;
}
