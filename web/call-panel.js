/** The call across its turns, while it goes on: how long one waits, a chart of it, and the call's id, to copy and to look it up. */

import { figuresOf } from './call-figures.js';
import { element } from './element.js';
import { waitChart } from './wait-chart.js';
import { milliseconds, words } from './words.js';

/** @typedef {import('./call-log.js').CallLog} CallLog */

export class CallPanel {
  /** @param {HTMLElement} section hidden until there was a call @param {HTMLElement} box takes what is shown @param {CallLog} log */
  constructor(section, box, log) {
    this._section = section;
    this._box = box;
    this._log = log;
    this._figures = element('div');
    this._id = element('div', { class: 'call-id' });
    box.append(this._figures, this._id);
  }

  /** A call begins. */
  begin() {
    this._section.hidden = false;
    this._id.replaceChildren();
    this.show();
  }

  /** Show the figures as they are now. */
  show() {
    const figures = figuresOf(this._log.turns);
    this._figures.replaceChildren(figureList([
      [words.call.turns, String(figures.turns)],
      [words.call.p50, known(figures.p50)],
      [words.call.p95, known(figures.p95)],
      [words.call.over, String(figures.over), figures.over > 0],
    ]));
    if (figures.waits.length) this._figures.append(waitChart(this._log.turns));
    if (this._log.id && !this._id.childElementCount) this._id.append(...idOf(this._log.id));
  }
}

/** Names and values side by side. @param {[name: string, value: string, over?: boolean][]} rows */
export function figureList(rows) {
  return element('dl', { class: 'figures' }, ...rows.map(([name, value, over]) => element(
    'div', over ? { class: 'over' } : {}, element('dt', {}, name), element('dd', {}, over ? `▲ ${value}` : value),
  )));
}

/** @param {number | null} value in milliseconds */
export function known(value) {
  return value === null ? '–' : milliseconds(value);
}

/** A call's id with what can be done with it. @param {string} id @returns {HTMLElement[]} */
export function idOf(id) {
  const copy = element('button', { type: 'button', class: 'quiet small' }, words.call.copy);
  const told = element('span', { class: 'soft', role: 'status' });
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(id);
      told.textContent = words.call.copied;
    } catch {
      told.textContent = words.call.notCopied;
    }
  });
  return [
    element('p', {}, `${words.call.id} `, element('code', {}, id)),
    element(
      'p', { class: 'actions' }, copy,
      element('a', { href: `monitor#call=${encodeURIComponent(id)}`, target: '_blank', rel: 'noopener' }, words.call.monitor), told,
    ),
  ];
}
