/**
 * The captions: what the caller says (grey while it may change), what the agent was really heard to say (and, struck
 * through, what an interruption cut), and the tools that ran.
 */

import { element } from './element.js';
import { toolCard } from './tool-card.js';
import { fill, words } from './words.js';

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */

const MAX_ENTRIES = 300;
/** So many characters of a name, and of a word of it, fit into the margin. A longer one stands above what is said. */
const MARGIN_HOLDS = { name: 18, word: 9 };
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
    this._agent = '';
    /** The agent's line that is being said; empty: none is. */
    this._saying = '';
    /** @type {HTMLOListElement | null} Where lines go that leave the conversation now. */
    this._undone = null;
  }

  /** @param {string} name */
  setAgent(name) {
    this._agent = name;
  }

  /** Begin a call; what earlier calls left stays above a line. */
  begin() {
    if (this._list.childElementCount) this._append('', element('li', { class: 'divider' }, words.captions.newCall));
    this._entries.clear();
    this._saying = '';
  }

  /** Nothing more comes: what was still open stays as it is, without its "listening" dots. */
  end() {
    for (const [id, entry] of this._entries) {
      if (entry.querySelector('.waiting')) this._remove(id);
      entry.querySelector('.unstable')?.classList.replace('unstable', 'stable');
    }
  }

  /** The connection is lost: mark the line that the agent was saying. It loses the mark once it goes on. */
  lost() {
    const place = this._entries.get(this._saying)?.querySelector('.words');
    if (!place || place.querySelector('.broken')) return;
    place.append(element('span', { class: 'note broken' }, words.captions.broken));
    this._follow();
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
      case 'conversation.item.deleted':
        this._undo(event.item_id);
        break;
      case 'response.output_text.delta':
        this._written(event.item_id, event.delta);
        break;
      case 'conversation.item.added':
        this._undone = null;
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
    this._announce(fill(words.captions.youSaid, { text }));
    this._follow();
  }

  /** @param {string} id */
  _notUnderstood(id) {
    this._words(id, 'caller').replaceChildren(element('span', { class: 'not-understood' }, words.captions.notUnderstood));
    this._announce(words.captions.notUnderstoodAloud);
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

  /** A line that left the conversation is folded away, with the others that leave it now. They come the last first. @param {string} id */
  _undo(id) {
    const entry = this._entries.get(id);
    if (!entry) return;
    this._entries.delete(id);
    if (!this._undone) {
      this._undone = element('ol', { class: 'transcript' });
      const fold = element('details', {}, element('summary', {}, words.captions.takenBack), this._undone);
      entry.before(element('li', { class: 'undone' }, fold));
    }
    this._undone.prepend(entry);
  }

  /** An answer in writing. @param {string} id @param {string} delta */
  _written(id, delta) {
    const place = this._words(id, 'agent');
    const text = place.querySelector('.heard') ?? place.appendChild(element('span', { class: 'heard' }));
    text.append(delta);
    this._follow();
  }

  /** @param {string} id @param {string} heard @param {string} unheard */
  _heard(id, heard, unheard) {
    if (!heard && !unheard) return;
    const place = this._words(id, 'agent');
    place.replaceChildren(element('span', { class: 'heard' }, heard));
    this._saying = id;
    if (unheard) {
      place.append(heard ? ' ' : '', element('s', {}, unheard));
      place.append(element('span', { class: 'note' }, heard ? words.captions.interrupted : words.captions.notSaid));
    }
    this._follow();
  }

  /** @param {import('./lib/protocol.js').Reply} reply */
  _done(reply) {
    for (const item of reply.output) {
      if (item.id === this._saying) this._saying = '';
      const heard = this._entries.get(item.id)?.querySelector('.heard')?.textContent;
      if (heard) this._announce(`${this._agent || words.captions.agent}: ${heard}`);
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
      const name = who === 'caller' ? words.captions.you : this._agent || words.captions.agent;
      entry = element('li', { class: `said ${who}${isLong(name) ? ' long' : ''}` }, element('span', { class: 'who' }, name), element('p', { class: 'words' }));
      entry.dataset.item = id;
      if (who === 'caller') entry.append(element('button', { type: 'button', class: 'edit' }, words.captions.edit));
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

/** @param {string} name of who speaks */
function isLong(name) {
  return name.length > MARGIN_HOLDS.name || name.split(/\s/).some((word) => word.length > MARGIN_HOLDS.word);
}
