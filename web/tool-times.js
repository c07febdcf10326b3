/** The tool calls of a call, each with when it began, how long it took, and what came of it. */

import { element } from './element.js';
import { labelled } from './labelled.js';
import { milliseconds, seconds, words } from './words.js';

/** @typedef {import('./lib/protocol.js').ToolProgress} ToolProgress */

const MAX_CALLS = 200;

export class ToolTimes {
  /** @param {HTMLElement} place */
  constructor(place) {
    this._empty = labelled('p', 'inspector.noTools', { class: 'soft' });
    this._body = element('tbody');
    const heads = ['tool', 'arguments', 'began', 'took', 'result'].map((name) => labelled('th', `inspector.${name}`, { scope: 'col' }));
    this._table = element('table', { class: 'tool-times', hidden: '' }, element('thead', {}, element('tr', {}, ...heads)), this._body);
    place.append(this._empty, element('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': words.inspector.tools, 'data-word-aria-label': 'inspector.tools' }, this._table));
    /** @type {Map<string, {beganMs: number, row: HTMLTableRowElement}>} */
    this._calls = new Map();
    this._sinceMs = performance.now();
  }

  /** Another call begins. */
  begin() {
    this._calls.clear();
    this._body.replaceChildren();
    this._table.hidden = true;
    this._empty.hidden = false;
    this._sinceMs = performance.now();
  }

  /** @param {ToolProgress} tool */
  take(tool) {
    const nowMs = performance.now();
    const known = this._calls.get(tool.item_id);
    const beganMs = known?.beganMs ?? nowMs;
    const status = tool.status === 'completed' && tool.ok === false ? 'failed' : tool.status;
    const row = element(
      'tr', { 'data-status': status },
      element('th', { scope: 'row' }, element('code', {}, tool.name)), element('td', {}, element('code', {}, tool.arguments)),
      element('td', { class: 'number' }, `${seconds(beganMs - this._sinceMs)} s`),
      element('td', { class: 'number' }, tool.status === 'running' ? '…' : milliseconds(nowMs - beganMs)),
      element('td', {}, words.tools[status], ' ', element('code', {}, tool.output ?? '')),
    );
    if (known) known.row.replaceWith(row);
    else this._body.append(row);
    this._calls.set(tool.item_id, { beganMs, row });
    for (const [id, oldest] of this._calls) {
      if (this._calls.size <= MAX_CALLS) break;
      oldest.row.remove();
      this._calls.delete(id);
    }
    this._table.hidden = false;
    this._empty.hidden = true;
  }
}
