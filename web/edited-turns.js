/**
 * Earlier words of the caller that are said anew: each line of the caller has a button for it. What followed the line leaves the
 * conversation, and the call goes on from there. The page keeps what was said, folded away.
 */

import { element } from './element.js';
import { words } from './words.js';

export class EditedTurns {
  /** @param {HTMLElement} list the captions @param {import('./lib/voiceagent.js').VoiceAgent} agent @param {(problem: string) => void} failed */
  constructor(list, agent, failed) {
    this._agent = agent;
    this._failed = failed;
    list.addEventListener('click', (event) => {
      const button = event.target instanceof Element ? event.target.closest('button.edit') : null;
      const line = button?.closest('li');
      if (line) this._open(/** @type {HTMLLIElement} */ (line));
    });
  }

  /** @param {HTMLLIElement} line */
  _open(line) {
    const said = line.querySelector('.words')?.textContent ?? '';
    const text = element('textarea', { rows: '2', maxlength: '1000', 'aria-label': words.editing.label });
    text.value = said;
    const send = element('button', { type: 'submit', class: 'quiet' }, words.editing.send);
    const cancel = element('button', { type: 'button', class: 'quiet' }, words.editing.cancel);
    const note = hasRunTools(line) ? `${words.editing.note} ${words.editing.toolsRan}` : words.editing.note;
    const form = element('form', { class: 'editing' }, text, element('small', {}, note), element('div', { class: 'actions' }, send, cancel));
    const close = () => {
      form.remove();
      line.classList.remove('edited');
      /** @type {HTMLElement | null} */ (line.querySelector('.edit'))?.focus();
    };
    cancel.addEventListener('click', close);
    form.addEventListener('keydown', (event) => {
      event.stopPropagation(); // Space and Esc mean something else on the page
      if (event.key === 'Escape') close();
      if (event.key === 'Enter' && !event.shiftKey && event.target === text) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const instead = text.value.trim();
      if (!instead) return;
      send.disabled = true;
      const isDone = await this._agent.goOnFrom(line.dataset.item ?? '', instead);
      close();
      if (!isDone) this._failed(words.editing.failed);
    });
    line.classList.add('edited');
    line.append(form);
    text.focus();
  }
}

/** True when a tool has run since this line. @param {Element} line */
function hasRunTools(line) {
  for (let next = line.nextElementSibling; next; next = next.nextElementSibling) {
    if (next.matches('.tool[data-status="completed"]')) return true;
  }
  return false;
}
