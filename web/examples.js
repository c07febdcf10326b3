/** Things to say to the agent, from its own file. Before a call, pressing one calls; in a call, it is sent as text. */

import { element } from './element.js';
import { fill, words } from './words.js';

export class Examples {
  /**
   * @param {HTMLElement} section hidden where the agent has none @param {HTMLElement} list @param {HTMLElement} hint
   * @param {{call: (text: string) => void, send: (text: string) => void}} actions `call` is told what is about to be said
   */
  constructor(section, list, hint, actions) {
    this._section = section;
    this._list = list;
    this._hint = hint;
    this._actions = actions;
    /** @type {readonly string[]} */
    this._texts = [];
    this._inCall = false;
    /** The one that was pressed to call, until something is said. */
    this._chosen = '';
  }

  /** @param {readonly string[]} texts */
  show(texts) {
    this._texts = texts;
    this._draw();
  }

  /** @param {import('./lib/voiceagent.js').CallState} state */
  showState(state) {
    this._inCall = state === 'live' || state === 'unstable' || state === 'resuming';
    if (state === 'idle') this._chosen = '';
    this._draw();
  }

  /** The caller has said something. */
  said() {
    if (!this._chosen) return;
    this._chosen = '';
    this._draw();
  }

  _draw() {
    this._section.hidden = !this._texts.length;
    this._hint.textContent = this._chosen && this._inCall ? words.examples.say : '';
    const focused = this._texts.indexOf(/** @type {HTMLElement} */ (document.activeElement)?.dataset.example ?? '');
    this._list.replaceChildren(...this._texts.map((text) => {
      const does = fill(this._inCall ? words.examples.send : words.examples.call, { text });
      const button = element('button', { type: 'button', 'data-example': text, title: does }, text);
      if (text === this._chosen) button.classList.add('chosen');
      button.addEventListener('click', () => this._press(text));
      return element('li', {}, button);
    }));
    if (focused >= 0) this._list.querySelectorAll('button')[focused]?.focus();
  }

  /** @param {string} text */
  _press(text) {
    if (this._inCall) {
      this._actions.send(text);
      this.said();
      return;
    }
    this._chosen = text;
    this._actions.call(text);
  }
}
