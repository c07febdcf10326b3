/** The prompts of a call as the language model got them, for who has an operator's key. They are asked for only when the person wants them. */

import { element } from './element.js';
import { copy, labelled } from './labelled.js';
import { follow } from './server-events.js';
import { fill, words } from './words.js';

const MAX_PROMPTS = 20;

/**
 * @typedef {{role: string, content: string, tool_calls?: {name: string, arguments: string}[], tool_call_id?: string}} PromptMessage
 * @typedef {{type: string, reply: number, speculative: boolean, must_call: string, messages: PromptMessage[],
 *   tools: {function: {name: string}}[], text: string, cut: string[],
 *   tokens: {prompt: number, generated: number, cached: number | null}}} Prompt
 */

export class PromptView {
  /** @param {HTMLElement} place @param {import('./lib/voiceagent.js').VoiceAgent} agent */
  constructor(place, agent) {
    this._agent = agent;
    this._callId = '';
    /** @type {AbortController | null} */
    this._following = null;
    this._wanted = element('input', { type: 'checkbox' });
    this._told = element('p', { class: 'soft', role: 'status' });
    this._list = element('ol', { class: 'prompts' });
    place.append(
      element('label', { class: 'check' }, this._wanted, labelled('span', 'inspector.showPrompts')),
      labelled('p', 'inspector.promptNote', { class: 'soft' }), this._told, this._list,
    );
    this._wanted.addEventListener('input', () => this._follow());
  }

  /** @param {string} callId of the call that runs; empty: none does */
  setCall(callId) {
    if (callId === this._callId) return;
    this._callId = callId;
    if (callId) this._list.replaceChildren();
    this._follow();
  }

  _follow() {
    this._following?.abort();
    this._following = null;
    this._told.textContent = '';
    if (!this._wanted.checked) return;
    if (!this._callId) {
      this._told.textContent = words.inspector.nextCall;
      return;
    }
    const following = new AbortController();
    this._following = following;
    follow(`${this._agent.url}/v1/calls/${this._callId}/prompts`, {
      key: this._agent.key,
      signal: following.signal,
      take: (prompt) => prompt.type === 'prompt' && this._show(prompt),
      told: (state, problem, status) => {
        if (following.signal.aborted) return;
        const { operatorOnly, waiting, lost } = words.inspector;
        if (state === 'live') this._told.textContent = this._list.childElementCount ? '' : waiting;
        else if (state === 'refused') this._told.textContent = status === 404 ? '' : `${operatorOnly} ${problem?.message ?? ''}`;
        else this._told.textContent = state === 'lost' ? lost : '';
      },
    });
  }

  /** @param {Prompt} prompt */
  _show(prompt) {
    this._told.textContent = '';
    const { tokens } = prompt;
    const facts = [
      fill(words.inspector.reply, { reply: prompt.reply }),
      ...(prompt.speculative ? [words.inspector.speculative] : []),
      ...(tokens.prompt ? [fill(words.inspector.tokens, { prompt: tokens.prompt, cached: tokens.cached ?? 0, generated: tokens.generated })] : []),
      ...(prompt.cut.length ? [fill(words.inspector.cut, { parts: prompt.cut.join(', ') })] : []),
    ];
    const button = labelled('button', 'inspector.copy', { type: 'button', class: 'quiet' });
    button.addEventListener('click', () => copy(button, JSON.stringify(prompt, null, 2)));
    const messages = element('dl', { class: 'messages' });
    for (const message of prompt.messages) {
      const calls = (message.tool_calls ?? []).map((call) => `${call.name}(${call.arguments})`);
      messages.append(element('dt', {}, message.role), element('dd', {}, [message.content, ...calls].filter(Boolean).join('\n')));
    }
    const box = element('details', { open: '' }, element('summary', {}, facts.join(' · ')), messages);
    if (prompt.tools.length) box.append(fold(fill(words.inspector.toolsOffered, { count: prompt.tools.length }), JSON.stringify(prompt.tools, null, 2)));
    if (prompt.text) box.append(fold(words.inspector.templated, prompt.text));
    box.append(button);
    for (const older of this._list.querySelectorAll(':scope > li > details')) older.removeAttribute('open');
    this._list.prepend(element('li', {}, box));
    while (this._list.childElementCount > MAX_PROMPTS) this._list.lastElementChild?.remove();
  }
}

/** @param {string} title @param {string} text */
function fold(title, text) {
  return element('details', {}, element('summary', {}, title), element('pre', { tabindex: '0', 'aria-label': title }, text));
}
