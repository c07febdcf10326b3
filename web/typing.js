/** Typing in place of speaking: within a call, or to begin a call without a microphone, of which the message is the first. */

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */

/** So long the agent's greeting is waited for, which the first message then stops. */
const GREETING_MS = 1_500;

export class Typing {
  /**
   * @param {HTMLFormElement} form with an input and a button
   * @param {import('./lib/voiceagent.js').VoiceAgent} agent
   * @param {() => void} begin begins a call without a microphone
   */
  constructor(form, agent, begin) {
    this._agent = agent;
    this._begin = begin;
    this._input = /** @type {HTMLInputElement} */ (form.querySelector('input'));
    this._button = /** @type {HTMLButtonElement} */ (form.querySelector('button'));
    /** The message that begins a call. */
    this._first = '';
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this._submit(this._input.value.trim());
    });
  }

  /** Say a text: in the call, or in one that begins with it. @param {string} text */
  say(text) {
    if (this._agent.busy) return this._agent.sendText(text);
    this._first = text;
    this._begin();
    return true;
  }

  /** @param {import('./lib/voiceagent.js').CallState} state */
  showState(state) {
    const isOpen = state === 'idle' || state === 'live';
    this._input.readOnly = !isOpen;
    this._button.disabled = !isOpen;
    if (state !== 'idle' || !this._first) return;
    this._input.value ||= this._first;
    this._first = '';
  }

  /** @param {ServerEvent} event */
  take(event) {
    if (!this._first) return;
    if (event.type === 'response.created') this._sayFirst();
    if (event.type !== 'session.created') return;
    if (event.session.voiceagent?.greeting) setTimeout(() => this._sayFirst(), GREETING_MS);
    else this._sayFirst();
  }

  _sayFirst() {
    if (this._first && this._agent.sendText(this._first)) this._first = '';
  }

  /** @param {string} text */
  _submit(text) {
    if (text && this.say(text)) this._input.value = '';
  }
}
