/** What a person is told when a call fails or ends: what happened, and what to do about it. */

import { element } from './element.js';

/** @typedef {{title: string, advice: string, action?: string, calm?: boolean, askForKey?: boolean}} Telling */

/** @type {Record<string, Telling>} */
const PROBLEMS = {
  microphone_refused: {
    title: 'The microphone is not allowed.',
    advice: 'Click the icon beside the address of this page, allow the microphone, then call again.',
    action: 'Call again',
  },
  microphone_missing: {
    title: 'No microphone was found.',
    advice: 'Plug one in or switch one on, then call again. If you chose a microphone below, choose another.',
    action: 'Call again',
  },
  microphone_busy: {
    title: 'The microphone cannot be opened.',
    advice: 'Another program may be using it. Close that program, or choose another microphone below, then call again.',
    action: 'Call again',
  },
  insecure_context: {
    title: 'The browser gives no microphone to this address.',
    advice: 'Open this page over HTTPS, or on the server’s own machine at http://localhost with the same port.',
  },
  not_supported: {
    title: 'This browser cannot make calls.',
    advice: 'It has no WebRTC. Use a current Chrome, Edge, Firefox or Safari.',
  },
  server_unreachable: {
    title: 'The server does not answer.',
    advice: 'See that it is running (voiceagent serve) and that this machine is online, then call again.',
    action: 'Call again',
  },
  server_full: {
    title: 'All lines are busy.',
    advice: 'Someone has to hang up first. Call again in a moment.',
    action: 'Call again',
  },
  memory_full: {
    title: 'All lines are busy.',
    advice: 'The language model has no memory left for another call. Someone has to hang up first; call again in a moment.',
    action: 'Call again',
  },
  server_stopping: { title: 'The server is stopping.', advice: 'Call again when it is back.', action: 'Call again' },
  not_ready: {
    title: 'The server is still getting ready.',
    advice: 'It is loading its models; this takes a few seconds. Then call again.',
    action: 'Call again',
  },
  missing_api_key: {
    title: 'This server wants a key.',
    advice: 'Enter a key of this server. It is kept until you close this tab.',
    askForKey: true,
  },
  invalid_api_key: {
    title: 'The server does not know this key.',
    advice: 'The key that you entered is wrong, or it is no longer valid. Enter another one, without quotes or spaces.',
    askForKey: true,
  },
  too_many_wrong_keys: {
    title: 'Too many wrong keys.',
    advice: 'The server makes you wait a minute. Then enter the right key.',
    askForKey: true,
  },
  origin_not_allowed: {
    title: 'The server only answers its own machine.',
    advice: 'Open this page at http://localhost on the server’s machine, or have the server’s keys set up.',
  },
  offer_refused: {
    title: 'The server refused the call.',
    advice: 'Reload this page and call again. If it stays so, the line below says what the server did not like.',
    action: 'Call again',
  },
  connect_timeout: {
    title: 'No connection came about.',
    advice: 'A firewall may be blocking UDP between you and the server. Try another network, or call again.',
    action: 'Call again',
  },
};

/** @type {Record<string, Telling>} */
const ENDS = {
  hangup: { title: 'You hung up.', advice: '', calm: true },
  silence: { title: 'The call ended because nobody spoke.', advice: 'Call again whenever you like.', action: 'Call again', calm: true },
  agent_ended: { title: 'The agent ended the call.', advice: 'Call again whenever you like.', action: 'Call again', calm: true },
  call_limit: { title: 'The call reached the longest time allowed.', advice: 'Call again to go on.', action: 'Call again', calm: true },
  lost: {
    title: 'The connection to the server was lost.',
    advice: 'The server may have stopped, or your network is down. Call again; the agent will not remember this call.',
    action: 'Call again',
  },
  replaced: { title: 'The call goes on over another connection.', advice: 'This page is no longer part of it.', calm: true },
  key_revoked: { title: 'The key of this call was revoked.', advice: 'Ask whoever gave it to you for a new one.' },
  server_stopping: { title: 'The server was stopped.', advice: 'Call again when it is back.', action: 'Call again' },
  failed: { title: 'The call failed on the server.', advice: 'Call again; the server’s log says what happened.', action: 'Call again' },
};

/** @type {Telling} */
const QUIET = { title: 'Nothing comes from the server any more.', advice: 'Waiting a moment for it to come back …' };
/** @type {Telling} */
const RESUMING = {
  title: 'The connection to the server was lost.',
  advice: 'Your call waits. It is being taken up again; what you say now is not heard.',
};

export class Problems {
  /** @param {HTMLElement} box @param {{again: () => void, key: (key: string) => void}} actions */
  constructor(box, actions) {
    this._box = box;
    this._actions = actions;
  }

  clear() {
    this._box.hidden = true;
    delete this._box.dataset.code;
    this._box.replaceChildren();
  }

  /** A call that could not be made. @param {import('./lib/problem.js').CallProblem} problem */
  show(problem) {
    if (problem.code === 'cancelled') return;
    const telling = PROBLEMS[problem.code] ?? PROBLEMS.offer_refused;
    this._tell(problem.code, telling, problem.message);
  }

  /** The connection of a call wavers, is lost, or is back. @param {string} state */
  wavers(state) {
    if (state === 'unstable') this._tell('quiet', QUIET, '');
    else if (state === 'resuming') this._tell('resuming', RESUMING, '');
    else if (['quiet', 'resuming'].includes(this._box.dataset.code ?? '')) this.clear();
  }

  /** A call that is over. @param {string} reason */
  ended(reason) {
    const telling = ENDS[reason] ?? { ...ENDS.failed, title: `The call ended: ${reason}.` };
    if (telling.advice) this._tell(reason, telling, '');
    else this.clear();
  }

  /** @param {string} code @param {Telling} telling @param {string} detail */
  _tell(code, telling, detail) {
    this._box.dataset.code = code;
    this._box.className = telling.calm ? 'problem calm' : 'problem';
    this._box.replaceChildren(element('strong', {}, telling.title), element('p', {}, telling.advice));
    if (detail && !telling.askForKey) this._box.append(element('small', {}, detail));
    if (telling.askForKey) this._box.append(this._keyForm());
    if (telling.action) {
      const button = element('button', { type: 'button', class: 'quiet' }, telling.action);
      button.addEventListener('click', this._actions.again);
      this._box.append(element('div', { class: 'actions' }, button));
    }
    this._box.hidden = false;
    this._box.scrollIntoView({ block: 'nearest' });
  }

  _keyForm() {
    const input = element('input', { type: 'password', 'aria-label': 'Key', autocomplete: 'off', required: '' });
    const form = element('form', {}, input, element('button', { type: 'submit', class: 'quiet' }, 'Call with this key'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this._actions.key(input.value.trim());
    });
    return form;
  }
}
