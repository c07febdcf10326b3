/**
 * What this page saw of one call: the events in both directions, what was said, and the turns' times. It is kept in this page only, and
 * bounded; the downloads are made of it.
 */

/**
 * @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent
 * @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured
 * @typedef {{at_ms: number, direction: 'received' | 'sent', event: Record<string, any>}} SeenEvent
 * @typedef {{at_ms: number, who: 'caller' | 'agent' | 'tool', name: string, text: string, unheard: string}} Line
 */

const MAX_EVENTS = 20_000;
const MAX_TURNS = 2_000;

export class CallLog {
  constructor() {
    /** The call's id at the server; empty until it tells. */
    this.id = '';
    this.agent = '';
    this.began = new Date();
    this._beganMs = performance.now();
    this._endedMs = 0;
    /** True while the server records the call. */
    this.isRecorded = false;
    /** @type {SeenEvent[]} */
    this.events = [];
    /** Events that are no longer here, because there were too many. */
    this.dropped = 0;
    /** @type {TurnMeasured[]} */
    this.turns = [];
    /** @type {Map<string, Line>} */
    this._lines = new Map();
    /** @type {Set<string>} */
    this._tools = new Set();
  }

  /** Another call begins. */
  begin() {
    Object.assign(this, new CallLog());
  }

  end() {
    this._endedMs = performance.now();
  }

  /** How long the call has lasted, or did. */
  get length_ms() {
    return (this._endedMs || performance.now()) - this._beganMs;
  }

  /** How many tools ran. */
  get tools() {
    return this._tools.size;
  }

  /** What was said, in the order in which it began. @returns {Line[]} */
  get lines() {
    return [...this._lines.values()].filter((line) => line.text || line.unheard);
  }

  /** A client event that this page sent. @param {Record<string, any>} event */
  sent(event) {
    this._keep('sent', event);
  }

  /** @param {ServerEvent} event */
  take(event) {
    this._keep('received', event);
    switch (event.type) {
      case 'session.created':
        this.id = event.session.voiceagent?.call_id ?? this.id;
        this.agent = event.session.voiceagent?.agent ?? this.agent;
        this.isRecorded = event.session.voiceagent?.recording ?? this.isRecorded;
        break;
      case 'voiceagent.recording':
        this.isRecorded = event.recording;
        break;
      case 'voiceagent.handoff':
        this.agent = event.agent;
        break;
      case 'input_audio_buffer.speech_started':
        this._line(event.item_id, 'caller', '');
        break;
      case 'conversation.item.input_audio_transcription.completed':
        this._line(event.item_id, 'caller', event.transcript.trim());
        break;
      case 'conversation.item.added':
        if (event.item.role === 'user') this._line(event.item.id, 'caller', written(event.item));
        break;
      case 'voiceagent.heard':
        this._line(event.item_id, 'agent', event.heard, event.unheard);
        break;
      case 'response.output_text.delta':
        this._line(event.item_id, 'agent', `${this._lines.get(event.item_id)?.text ?? ''}${event.delta}`);
        break;
      case 'conversation.item.deleted':
        this._lines.delete(event.item_id);
        break;
      case 'voiceagent.tool':
        if (event.status !== 'running') this._tools.add(event.item_id);
        this._line(event.item_id, 'tool', `${event.name}(${event.arguments})${event.output === null ? '' : ` → ${event.output}`}`);
        break;
      case 'voiceagent.turn':
        if (this.turns.length < MAX_TURNS) this.turns.push(event);
        break;
    }
  }

  /** @param {string} id @param {Line['who']} who @param {string} text @param {string} [unheard] */
  _line(id, who, text, unheard = '') {
    const line = this._lines.get(id) ?? { at_ms: this.length_ms, who, name: who === 'agent' ? this.agent : '', text: '', unheard: '' };
    if (text) line.text = text;
    line.unheard = unheard;
    this._lines.set(id, line);
    if (this._lines.size > MAX_EVENTS) this._lines.delete(/** @type {string} */ (this._lines.keys().next().value));
  }

  /** @param {SeenEvent['direction']} direction @param {Record<string, any>} event */
  _keep(direction, event) {
    this.events.push({ at_ms: Math.round(this.length_ms), direction, event });
    if (this.events.length <= MAX_EVENTS) return;
    this.events.shift();
    this.dropped += 1;
  }
}

/** @param {import('./lib/protocol.js').Item} item */
function written(item) {
  return (item.content ?? []).filter((part) => part.type === 'input_text').map((part) => part.text).join(' ');
}
