/** The events of a call in both directions, as text and without secrets. It is bounded: the oldest are dropped and counted. */

const MAX_EVENTS = 2_000;
const MAX_CHARACTERS = 2_000_000;
const MAX_OF_ONE = 65_536;

/** @typedef {{number: number, atMs: number, isSent: boolean, type: string, text: string}} LoggedEvent */

export class EventLog extends EventTarget {
  constructor() {
    super();
    /** @type {LoggedEvent[]} */
    this.events = [];
    this.dropped = 0;
    this._characters = 0;
    this._number = 0;
    this._beganMs = performance.now();
  }

  /** Another call begins. */
  begin() {
    this._beganMs = performance.now();
    this.clear();
  }

  clear() {
    this.events = [];
    this.dropped = this._characters = 0;
    this.dispatchEvent(new Event('cleared'));
  }

  /** @param {{type: string}} event @param {boolean} isSent true: to the server */
  add(event, isSent) {
    const whole = JSON.stringify(withoutSecrets(event));
    const text = whole.length > MAX_OF_ONE ? `${whole.slice(0, MAX_OF_ONE)}…` : whole;
    this._number += 1;
    const logged = { number: this._number, atMs: performance.now() - this._beganMs, isSent, type: event.type, text };
    this.events.push(logged);
    this._characters += text.length;
    while (this.events.length > MAX_EVENTS || this._characters > MAX_CHARACTERS) {
      this._characters -= this.events.shift()?.text.length ?? 0;
      this.dropped += 1;
    }
    this.dispatchEvent(new CustomEvent('added', { detail: logged }));
  }
}

/** A resume token takes a call up again: whoever has it is the caller. @param {{type: string}} event */
function withoutSecrets(event) {
  return event.type === 'voiceagent.resume' ? { ...event, token: '…' } : event;
}
