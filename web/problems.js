/** What a person is told when a call fails or ends: what happened, and what to do about it, in `words.problems` and `words.ends`. */

import { element } from './element.js';
import { fill, words } from './words.js';

/** @typedef {{title: string, advice: string}} Telling */

/** Problems after which calling again helps. */
const AGAIN = new Set([
  'microphone_refused', 'microphone_missing', 'microphone_busy', 'server_unreachable', 'server_full', 'memory_full', 'server_stopping',
  'not_ready', 'offer_refused', 'connect_timeout', 'silence', 'agent_ended', 'call_limit', 'lost', 'failed', 'other',
]);
const ASK_FOR_KEY = new Set(['missing_api_key', 'invalid_api_key', 'too_many_wrong_keys']);
/** Ends with which nothing is wrong. */
const CALM = new Set(['hangup', 'silence', 'agent_ended', 'call_limit', 'replaced']);

export class Problems {
  /** @param {HTMLElement} box @param {{again: () => void, key: (key: string) => void}} actions */
  constructor(box, actions) {
    this._box = box;
    this._actions = actions;
  }

  /** True while it is told that no microphone can be opened. */
  get isOfMicrophone() {
    return !this._box.hidden && (this._box.dataset.code ?? '').startsWith('microphone_');
  }

  clear() {
    this._box.hidden = true;
    delete this._box.dataset.code;
    this._box.replaceChildren();
  }

  /** A call that could not be made. @param {import('./lib/problem.js').CallProblem} problem */
  show(problem) {
    if (problem.code === 'cancelled') return;
    /** @type {Record<string, Telling>} */
    const known = words.problems;
    this._tell(problem.code, known[problem.code] ?? known.offer_refused, { detail: problem.message, again: AGAIN.has(problem.code) });
  }

  /** The connection of a call wavers, is lost, or is back. @param {string} state @param {string} cause `offline`, or not known */
  wavers(state, cause) {
    const told = this._box.dataset.code ?? '';
    if (state !== 'live' && cause === 'offline') this._tell('offline', words.wavers.offline);
    else if (state === 'unstable') this._tell('quiet', words.wavers.quiet);
    else if (state === 'resuming') this._tell('resuming', words.wavers.resuming);
    else if (['quiet', 'resuming', 'offline'].includes(told)) this.clear();
  }

  /** A call that is over. @param {string} reason */
  ended(reason) {
    /** @type {Record<string, Telling>} */
    const known = words.ends;
    const { title, advice } = known[reason] ?? known.other;
    if (advice) this._tell(reason, { title: fill(title, { reason }), advice }, { again: AGAIN.has(reason) || !(reason in known) });
    else this.clear();
  }

  /** @param {string} code @param {Telling} telling @param {{detail?: string, again?: boolean}} [more] */
  _tell(code, { title, advice }, { detail = '', again = false } = {}) {
    const askForKey = ASK_FOR_KEY.has(code);
    this._box.dataset.code = code;
    this._box.className = CALM.has(code) ? 'problem calm' : 'problem';
    this._box.replaceChildren(element('strong', {}, title), element('p', {}, advice));
    if (detail && !askForKey) this._box.append(element('small', {}, detail));
    if (askForKey) this._box.append(this._keyForm());
    if (again) {
      const button = element('button', { type: 'button', class: 'quiet' }, words.problem.again);
      button.addEventListener('click', this._actions.again);
      this._box.append(element('div', { class: 'actions' }, button));
    }
    this._box.hidden = false;
    this._box.scrollIntoView({ block: 'nearest' });
  }

  _keyForm() {
    const input = element('input', { type: 'password', 'aria-label': words.problem.key, autocomplete: 'off', required: '' });
    const form = element('form', {}, input, element('button', { type: 'submit', class: 'quiet' }, words.problem.callWithKey));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this._actions.key(input.value.trim());
    });
    return form;
  }
}
