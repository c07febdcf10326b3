/**
 * The captions: what the caller says (grey while it may change), what the agent was really heard to say (and, struck
 * through, what an interruption cut), and the tools that ran.
 */

import { element } from './element.js';
import { toolCard } from './tool-card.js';

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */

const MAX_ENTRIES = 300;
const NEAR_THE_END_PX = 120;

export class Captions {
  /**
   * @param {HTMLElement} list where the captions go
   * @param {HTMLElement} announcer a polite live region: only finished lines go there, so that it does not chatter
   */
  constructor(list, announcer) {
    this._list = list;
    this._announcer = announcer;
    /** @type {Map<string, HTMLLIElement>} */
    this._entries = new Map();
    this._agent = 'Agent';
  }

  /** @param {string} name */
  setAgent(name) {
    this._agent = name || 'Agent';
  }

  /** Begin a call; what earlier calls left stays above a line. */
  begin() {
    if (this._list.childElementCount) this._append('', element('li', { class: 'divider' }, 'New call'));
    this._entries.clear();
  }

  /** Nothing more comes: what was still open stays as it is, without its "listening" dots. */
  end() {
    for (const [id, entry] of this._entries) {
      if (entry.querySelector('.waiting')) this._remove(id);
      entry.querySelector('.unstable')?.classList.replace('unstable', 'stable');
    }
  }

  /** @param {ServerEvent} event */
  take(event) {
    switch (event.type) {
      case 'input_audio_buffer.speech_started':
        this._words(event.item_id, 'caller').replaceChildren(element('span', { class: 'waiting' }, '…'));
        break;
      case 'voiceagent.transcript.partial':
        if (event.stable || event.unstable) this._partial(event.item_id, event.stable, event.unstable);
        break;
      case 'conversation.item.input_audio_transcription.completed':
        this._final(event.item_id, event.transcript);
        break;
      case 'voiceagent.not_understood':
        this._notUnderstood(event.item_id);
        break;
      case 'conversation.item.added':
        this._typed(event.item);
        break;
      case 'voiceagent.heard':
        this._heard(event.item_id, event.heard, event.unheard);
        break;
      case 'response.done':
        this._done(event.response);
        break;
      case 'voiceagent.tool':
        this._tool(event);
        break;
    }
  }

  /** @param {string} id @param {string} stable @param {string} unstable */
  _partial(id, stable, unstable) {
    const gap = stable && unstable ? ' ' : '';
    this._words(id, 'caller').replaceChildren(
      element('span', { class: 'stable' }, stable), gap, element('span', { class: 'unstable' }, unstable),
    );
    this._follow();
  }

  /** @param {string} id @param {string} text */
  _final(id, text) {
    if (!text.trim()) {
      this._remove(id);
      return;
    }
    this._words(id, 'caller').replaceChildren(element('span', { class: 'final' }, text));
    this._announce(`You: ${text}`);
    this._follow();
  }

  /** @param {string} id */
  _notUnderstood(id) {
    this._words(id, 'caller').replaceChildren(element('span', { class: 'not-understood' }, '(not understood)'));
    this._announce('You were not understood.');
    this._follow();
  }

  /** @param {import('./lib/protocol.js').Item} item */
  _typed(item) {
    const text = (item.content ?? []).filter((part) => part.type === 'input_text').map((part) => part.text).join(' ');
    if (item.role !== 'user' || !text) return;
    this._words(item.id, 'caller').replaceChildren(element('span', { class: 'final' }, text));
    this._entries.get(item.id)?.classList.add('typed');
    this._follow();
  }

  /** @param {string} id @param {string} heard @param {string} unheard */
  _heard(id, heard, unheard) {
    if (!heard && !unheard) return;
    const words = this._words(id, 'agent');
    words.replaceChildren(element('span', { class: 'heard' }, heard));
    if (unheard) {
      words.append(heard ? ' ' : '', element('s', {}, unheard));
      words.append(element('span', { class: 'note' }, heard ? 'Interrupted: the rest was not said.' : 'Not said.'));
    }
    this._follow();
  }

  /** @param {import('./lib/protocol.js').Reply} reply */
  _done(reply) {
    for (const item of reply.output) {
      const heard = this._entries.get(item.id)?.querySelector('.heard')?.textContent;
      if (heard) this._announce(`${this._agent}: ${heard}`);
    }
  }

  /** @param {import('./lib/protocol.js').ToolProgress} tool */
  _tool(tool) {
    const known = this._entries.get(tool.item_id);
    const card = toolCard(tool);
    if (known) {
      known.replaceWith(card);
      this._entries.set(tool.item_id, card);
    } else {
      this._append(tool.item_id, card);
    }
    this._follow();
  }

  /** Something failed; the same as the line before is told once. @param {string} text nothing is told when empty */
  failed(text) {
    if (!text || this._list.lastElementChild?.textContent === text) return;
    this._append('', element('li', { class: 'failure' }, text));
    this._announce(text);
  }

  /** @param {string} id @param {'caller' | 'agent'} who @returns {HTMLElement} */
  _words(id, who) {
    let entry = this._entries.get(id);
    if (!entry) {
      const name = who === 'caller' ? 'You' : this._agent;
      entry = element('li', { class: `said ${who}` }, element('span', { class: 'who' }, name), element('p', { class: 'words' }));
      this._append(id, entry);
    }
    return /** @type {HTMLElement} */ (entry.querySelector('.words'));
  }

  /** @param {string} id @param {HTMLLIElement} entry */
  _append(id, entry) {
    this._list.append(entry);
    if (id) this._entries.set(id, entry);
    while (this._list.childElementCount > MAX_ENTRIES) this._list.firstElementChild?.remove();
    this._follow();
  }

  /** @param {string} id */
  _remove(id) {
    this._entries.get(id)?.remove();
    this._entries.delete(id);
  }

  /** @param {string} line */
  _announce(line) {
    this._announcer.append(element('p', {}, line));
    while (this._announcer.childElementCount > 20) this._announcer.firstElementChild?.remove();
  }

  /** Keep the newest line in view, unless the person has scrolled up to read. */
  _follow() {
    const panel = this._list.parentElement;
    const root = document.scrollingElement;
    for (const box of [panel, root]) {
      if (box && box.scrollHeight > box.clientHeight && getComputedStyle(box).overflowY !== 'visible') {
        if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_THE_END_PX) box.scrollTop = box.scrollHeight;
      }
    }
    const last = this._list.lastElementChild;
    const dock = document.querySelector('.dock');
    if (!last || !dock || root?.scrollHeight === root?.clientHeight) return;
    const hiddenBy = last.getBoundingClientRect().bottom - dock.getBoundingClientRect().top;
    if (hiddenBy > -8 && hiddenBy < innerHeight / 2) root?.scrollBy(0, hiddenBy + 16);
  }
}
