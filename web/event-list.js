/** The events of a call as a list that can be filtered; each opens to its JSON. */

import { element } from './element.js';
import { check, copy, field, labelled } from './labelled.js';
import { fill, seconds, words } from './words.js';

/** @typedef {import('./event-log.js').LoggedEvent} LoggedEvent */

const MAX_SHOWN = 400;
const GIST_CHARACTERS = 120;
/** Events that come many times until the words are whole. */
const IN_PROGRESS = /\.delta$|^voiceagent\.(heard|transcript\.partial)$/;

export class EventList {
  /** @param {HTMLElement} place @param {import('./event-log.js').EventLog} log */
  constructor(place, log) {
    this._log = log;
    this._text = element('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
    this._way = element('select', {}, ...['both', 'received', 'sent'].map((way) => labelled('option', `inspector.${way}`, { value: way })));
    this._brief = element('input', { type: 'checkbox', checked: '' });
    this._pause = element('input', { type: 'checkbox' });
    this._count = element('p', { class: 'soft', role: 'status' });
    this._list = element('ol', { class: 'inspected', tabindex: '0', 'data-word-aria-label': 'inspector.events', 'aria-label': words.inspector.events });
    const copyAll = labelled('button', 'inspector.copyAll', { type: 'button', class: 'quiet' });
    const clear = labelled('button', 'inspector.clear', { type: 'button', class: 'quiet' });
    place.append(
      element(
        'div', { class: 'filters' },
        field('inspector.filter', this._text), field('inspector.way', this._way), check('inspector.brief', this._brief),
        check('inspector.pause', this._pause), copyAll, clear,
      ),
      this._count, this._list,
    );
    for (const control of [this._text, this._way, this._brief, this._pause]) control.addEventListener('input', () => this._showAll());
    copyAll.addEventListener('click', () => copy(copyAll, this._wanted().map(({ text }) => text).join('\n')));
    clear.addEventListener('click', () => log.clear());
    log.addEventListener('added', (event) => this._added(/** @type {CustomEvent} */ (event).detail));
    log.addEventListener('cleared', () => this._showAll());
    this._showAll();
  }

  /** @param {LoggedEvent} event */
  _added(event) {
    if (this._pause.checked) return;
    if (this._isWanted(event)) {
      const isAtEnd = this._list.scrollHeight - this._list.scrollTop - this._list.clientHeight < 40;
      this._list.append(row(event));
      while (this._list.childElementCount > MAX_SHOWN) this._list.firstElementChild?.remove();
      if (isAtEnd) this._list.scrollTop = this._list.scrollHeight;
    }
    this._showCount();
  }

  _showAll() {
    this._list.replaceChildren(...this._wanted().slice(-MAX_SHOWN).map(row));
    this._list.scrollTop = this._list.scrollHeight;
    this._showCount();
  }

  _showCount() {
    const gaps = { shown: this._list.childElementCount, all: this._log.events.length, dropped: this._log.dropped };
    this._count.textContent = fill(this._log.dropped ? words.inspector.countDropped : words.inspector.count, gaps);
  }

  _wanted() {
    return this._log.events.filter((event) => this._isWanted(event));
  }

  /** @param {LoggedEvent} event */
  _isWanted(event) {
    const sought = this._text.value.trim().toLowerCase();
    if (this._way.value !== 'both' && event.isSent !== (this._way.value === 'sent')) return false;
    if (this._brief.checked && IN_PROGRESS.test(event.type)) return false;
    return !sought || event.text.toLowerCase().includes(sought);
  }
}

/** @param {LoggedEvent} event */
function row(event) {
  const way = event.isSent ? words.inspector.sent : words.inspector.received;
  const summary = element(
    'summary', {},
    element('time', {}, seconds(event.atMs)),
    element('span', { class: 'way', title: way }, element('span', { 'aria-hidden': 'true' }, event.isSent ? '↑' : '↓'), element('span', { class: 'hidden' }, way)),
    element('code', {}, event.type), element('span', { class: 'gist' }, gist(event.text)),
  );
  const details = element('details', {}, summary);
  details.addEventListener('toggle', () => {
    if (!details.open || details.childElementCount > 1) return;
    const button = labelled('button', 'inspector.copy', { type: 'button', class: 'quiet' });
    button.addEventListener('click', () => copy(button, event.text));
    details.append(element('pre', { tabindex: '0', 'aria-label': event.type }, pretty(event.text)), button);
  });
  return element('li', { 'data-type': event.type, class: event.type === 'error' ? 'failed' : '' }, details);
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // it was too long to be kept whole
  }
}

const TELLING = ['delta', 'transcript', 'heard', 'text', 'stable', 'name', 'message', 'step', 'agent', 'reason', 'status', 'item_id'];

/** What an event says, in one line: the first telling field of it or of what it holds. @param {string} text */
function gist(text) {
  /** @type {unknown} */
  let event;
  try {
    event = JSON.parse(text);
  } catch {
    return '';
  }
  /** @param {unknown} value @param {number} depth @returns {string} */
  const told = (value, depth) => {
    if (typeof value !== 'object' || value === null || depth > 4) return '';
    const fields = /** @type {Record<string, unknown>} */ (value);
    for (const name of TELLING) {
      const found = fields[name];
      if (typeof found === 'string' && found) return name === 'name' && typeof fields.arguments === 'string' ? `${found}(${fields.arguments})` : found;
    }
    for (const inner of Object.values(fields)) {
      const found = told(inner, depth + 1);
      if (found) return found;
    }
    return '';
  };
  return told(event, 0).slice(0, GIST_CHARACTERS);
}
