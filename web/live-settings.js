/**
 * The session's settings, to be tried while the call runs: how the agent waits for the end of a turn, how it answers, its instructions.
 * They hold for this call alone. The server says what it does not take.
 */

import { element } from './element.js';
import { check, field, labelled } from './labelled.js';
import { fill, word, words } from './words.js';

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */
/** @typedef {Record<string, any>} Session */

const DEFAULT_SILENCE_MS = 500;
const MANNERS = ['auto', 'high', 'medium', 'low', 'silence'];

export class LiveSettings {
  /** @param {HTMLElement} place @param {import('./lib/voiceagent.js').VoiceAgent} agent */
  constructor(place, agent) {
    this._agent = agent;
    /** @type {Session | null} What holds now. */
    this._now = null;
    /** @type {Session | null} What the call began with. */
    this._first = null;
    this._updates = 0;
    this._instructions = element('textarea', { rows: '6', maxlength: '16000', spellcheck: 'false' });
    this._manner = element('select', {}, ...MANNERS.map((manner) => labelled('option', `inspector.manner_${manner}`, { value: manner })));
    this._silence = element('input', { type: 'number', min: '100', max: '10000', step: '50' });
    this._interrupts = element('input', { type: 'checkbox' });
    this._speed = element('input', { type: 'number', min: '0.25', max: '1.5', step: '0.05' });
    this._written = element('input', { type: 'checkbox' });
    this._noise = element('input', { type: 'checkbox' });
    this._tokens = element('input', { type: 'number', min: '1', max: '4096', step: '1' });
    this._told = element('p', { role: 'status', class: 'soft' });
    const reset = labelled('button', 'inspector.reset', { type: 'button', class: 'quiet' });
    this._fields = element(
      'fieldset', { disabled: '' },
      element(
        'div', { class: 'settings' },
        field('inspector.manner', this._manner), field('inspector.silence', this._silence), field('inspector.speed', this._speed),
        field('inspector.mostTokens', this._tokens), check('inspector.interrupts', this._interrupts), check('inspector.written', this._written),
        check('inspector.noise', this._noise),
      ),
      field('inspector.instructions', this._instructions),
      element('div', { class: 'actions' }, labelled('button', 'inspector.apply', { type: 'submit', class: 'quiet' }), reset),
    );
    const form = element('form', { class: 'live-settings' }, labelled('p', 'inspector.settingsNote', { class: 'soft' }), this._fields, this._told);
    place.append(form);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this._update(this._changes());
    });
    reset.addEventListener('click', () => {
      if (!this._first) return;
      this._show(this._first);
      this._update(this._changes());
    });
    this._manner.addEventListener('input', () => this._showSilence());
  }

  /** @param {boolean} isLive whether settings can be changed now */
  setLive(isLive) {
    this._fields.disabled = !isLive || this._now === null;
  }

  /** Another call begins. */
  begin() {
    this._now = this._first = null;
    this._told.textContent = '';
  }

  /** @param {any} event of the server */
  take(event) {
    if (event.type === 'session.created' || event.type === 'session.updated') {
      this._now = event.session;
      this._first ??= event.session;
      this._show(event.session);
      this.setLive(true);
      if (event.type === 'session.updated') this._told.textContent = words.inspector.applied;
    } else if (event.type === 'error' && String(event.error.event_id ?? '').startsWith('page_settings_')) {
      this._told.textContent = event.error.message;
    }
  }

  /** @param {Session} session */
  _show(session) {
    const turns = session.audio?.input?.turn_detection;
    this._instructions.value = session.instructions ?? '';
    this._manner.value = turns?.type === 'server_vad' && turns.silence_duration_ms ? 'silence' : turns?.eagerness ?? 'auto';
    this._silence.value = String(turns?.silence_duration_ms ?? DEFAULT_SILENCE_MS);
    this._interrupts.checked = turns?.interrupt_response ?? true;
    this._speed.value = String(session.audio?.output?.speed ?? 1);
    this._written.checked = session.output_modalities?.[0] === 'text';
    this._noise.checked = Boolean(session.audio?.input?.noise_reduction);
    this._tokens.value = session.max_output_tokens === 'inf' ? '' : String(session.max_output_tokens ?? '');
    this._showSilence();
  }

  _showSilence() {
    this._silence.disabled = this._manner.value !== 'silence';
  }

  /** What differs from what holds now, as a `session.update` has it. @returns {Session} */
  _changes() {
    const now = this._now ?? {};
    const interrupts = { interrupt_response: this._interrupts.checked };
    const turns = this._manner.value === 'silence'
      ? { type: 'server_vad', silence_duration_ms: Number(this._silence.value), ...interrupts }
      : { type: 'semantic_vad', eagerness: this._manner.value, ...interrupts };
    /** @type {Session} */
    const input = {};
    if (!holds(now.audio?.input?.turn_detection, turns)) input.turn_detection = turns;
    if (this._noise.checked !== Boolean(now.audio?.input?.noise_reduction)) {
      input.noise_reduction = this._noise.checked ? { type: 'near_field' } : null;
    }
    /** @type {Session} */
    const audio = {};
    if (Object.keys(input).length) audio.input = input;
    if (Number(this._speed.value) !== (now.audio?.output?.speed ?? 1)) audio.output = { speed: Number(this._speed.value) };
    /** @type {Session} */
    const changes = {};
    if (Object.keys(audio).length) changes.audio = audio;
    if (this._instructions.value !== (now.instructions ?? '')) changes.instructions = this._instructions.value;
    if (this._written.checked !== (now.output_modalities?.[0] === 'text')) changes.output_modalities = [this._written.checked ? 'text' : 'audio'];
    const tokens = this._tokens.value ? Number(this._tokens.value) : 'inf';
    if (tokens !== (now.max_output_tokens ?? 'inf')) changes.max_output_tokens = tokens;
    return changes;
  }

  /** @param {Session} changes */
  _update(changes) {
    if (!Object.keys(changes).length) {
      this._told.textContent = words.inspector.nothingChanged;
      return;
    }
    this._updates += 1;
    const isSent = this._agent.send({ type: 'session.update', event_id: `page_settings_${this._updates}`, session: { type: 'realtime', ...changes } });
    if (!isSent) this._told.textContent = fill(word('wavers.quiet.title'), {});
  }
}

/** True when the settings that hold are these, whatever else they say. @param {Session | null | undefined} now @param {Session} wanted */
function holds(now, wanted) {
  return Boolean(now) && Object.entries(wanted).every(([name, value]) => now?.[name] === value);
}
