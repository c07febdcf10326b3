/** A call that is over, in short: its length, its waits, what ran, and what can be kept of it. */

import { figuresOf } from './call-figures.js';
import { figureList, idOf, known } from './call-panel.js';
import { clock, eventsOf, recordingOf, save, timesOf, transcriptOf } from './downloads.js';
import { element } from './element.js';
import { fill, words } from './words.js';

/** @typedef {import('./call-log.js').CallLog} CallLog */

export class CallSummary {
  /** @param {HTMLElement} box hidden while there is nothing to sum up @param {CallLog} log @param {() => string} key of the server */
  constructor(box, log, key) {
    this._box = box;
    this._log = log;
    this._key = key;
  }

  clear() {
    this._box.hidden = true;
    this._box.replaceChildren();
  }

  /** The call is over. */
  show() {
    const log = this._log;
    if (!log.id) return;
    const figures = figuresOf(log.turns);
    this._told = element('p', { class: 'soft', role: 'status' });
    this._box.replaceChildren(
      element('h2', {}, words.summary.title),
      figureList([
        [words.call.length, clock(log.length_ms)],
        [words.call.turns, String(figures.turns)],
        [words.call.p50, known(figures.p50)],
        [words.call.p95, known(figures.p95)],
        [words.call.longest, known(figures.longest)],
        [words.call.over, String(figures.over), figures.over > 0],
        [words.call.interruptions, String(figures.interruptions)],
        [words.call.tools, String(log.tools)],
      ]),
      element('h3', {}, words.summary.download),
      this._downloads(),
      this._told,
      element('p', { class: 'soft' }, words.summary.kept),
      element('div', { class: 'call-id' }, ...idOf(log.id)),
    );
    this._box.hidden = false;
    this._box.scrollIntoView({ block: 'start' });
  }

  _downloads() {
    const { id } = this._log;
    /** @type {[string, string, string, (log: CallLog) => string][]} */
    const files = [
      [words.summary.transcript, `${id}.txt`, 'text/plain', transcriptOf],
      [words.summary.events, `${id}.jsonl`, 'application/jsonl', eventsOf],
      [words.summary.times, `${id}.csv`, 'text/csv', timesOf],
    ];
    const buttons = files.map(([title, name, type, make]) => {
      const button = element('button', { type: 'button', class: 'quiet', 'data-download': name }, title);
      button.addEventListener('click', () => save(name, new Blob([make(this._log)], { type: `${type};charset=utf-8` })));
      return button;
    });
    if (this._log.isRecorded) buttons.push(this._audio());
    return element('p', { class: 'actions' }, ...buttons);
  }

  _audio() {
    const button = element('button', { type: 'button', class: 'quiet', 'data-download': 'recording' }, words.summary.audio);
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const { name, content } = await recordingOf(this._log.id, this._key());
        save(name, content);
        this._tell('');
      } catch (error) {
        this._tell(fill(words.summary.noAudio, { problem: error instanceof Error ? error.message : String(error) }));
      }
      button.disabled = false;
    });
    return button;
  }

  /** @param {string} line */
  _tell(line) {
    if (this._told) this._told.textContent = line;
  }
}
