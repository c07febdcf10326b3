/**
 * The inspector: what goes on in a call, for who builds the agent. Its events in both directions, its tool calls, the prompts as the language
 * model got them, and settings to try. It is made when it is first opened; events are noted from the beginning on.
 */

import { element } from './element.js';
import { EventList } from './event-list.js';
import { EventLog } from './event-log.js';
import { labelled } from './labelled.js';
import { LiveSettings } from './live-settings.js';
import { PromptView } from './prompt-view.js';
import { ToolTimes } from './tool-times.js';

/** @typedef {import('./lib/voiceagent.js').VoiceAgent} VoiceAgent */

const TABS = ['events', 'tools', 'prompts', 'settings'];

export class Inspector {
  /** @param {HTMLElement} place @param {HTMLButtonElement} button that opens it @param {VoiceAgent} agent */
  constructor(place, button, agent) {
    this._place = place;
    this._button = button;
    this._agent = agent;
    this._log = new EventLog();
    this._callId = '';
    /** @type {Map<string, {tab: HTMLButtonElement, panel: HTMLElement}>} */
    this._tabs = new Map(TABS.map((name) => [name, tab(name)]));
    const panel = (/** @type {string} */ name) => /** @type {{panel: HTMLElement}} */ (this._tabs.get(name)).panel;
    this._tools = new ToolTimes(panel('tools'));
    this._prompts = new PromptView(panel('prompts'), agent);
    this._settings = new LiveSettings(panel('settings'), agent);
    /** @type {EventList | null} */
    this._events = null;
    const tabs = element('div', { role: 'tablist', class: 'tabs', 'aria-labelledby': 'inspector-title' }, ...[...this._tabs.values()].map(({ tab: one }) => one));
    const close = labelled('button', 'inspector.close', { type: 'button', class: 'quiet' });
    place.append(
      element('div', { class: 'inspector-head' }, labelled('h2', 'inspector.title', { id: 'inspector-title' }), tabs, close),
      ...[...this._tabs.values()].map(({ panel: one }) => one),
    );
    button.addEventListener('click', () => this.toggle());
    close.addEventListener('click', () => this.toggle(false));
    tabs.addEventListener('click', (event) => this._choose(event.target instanceof HTMLElement ? event.target.dataset.tab ?? '' : ''));
    tabs.addEventListener('keydown', (event) => this._move(event));
    this._choose('events');
    agent.addEventListener('sent', (event) => this._log.add(/** @type {CustomEvent} */ (event).detail, true));
    agent.addEventListener('message', (event) => this._take(/** @type {CustomEvent} */ (event).detail));
    agent.addEventListener('state', (event) => this._showState(/** @type {CustomEvent} */ (event).detail.state));
  }

  /** @param {boolean} isOpen by default the other way than now */
  toggle(isOpen = this._place.hidden) {
    this._place.hidden = !isOpen;
    this._button.setAttribute('aria-expanded', String(isOpen));
    if (!isOpen) return this._button.focus();
    this._events ??= new EventList(/** @type {{panel: HTMLElement}} */ (this._tabs.get('events')).panel, this._log);
    this._place.scrollIntoView({ block: 'nearest' });
    return undefined;
  }

  /** @param {import('./lib/protocol.js').ServerEvent} event */
  _take(event) {
    if (event.type === 'session.created') {
      const callId = event.session.voiceagent?.call_id ?? '';
      if (callId !== this._callId) {
        this._callId = callId;
        this._tools.begin();
        this._settings.begin();
      }
      this._prompts.setCall(callId);
    }
    this._log.add(event, false);
    this._settings.take(event);
    if (event.type === 'voiceagent.tool') this._tools.take(event);
  }

  /** @param {import('./lib/voiceagent.js').CallState} state */
  _showState(state) {
    this._settings.setLive(state === 'live');
    if (state === 'connecting') this._log.begin();
    if (state === 'idle') this._prompts.setCall('');
  }

  /** @param {string} chosen */
  _choose(chosen) {
    if (!this._tabs.has(chosen)) return;
    for (const [name, { tab: one, panel }] of this._tabs) {
      one.setAttribute('aria-selected', String(name === chosen));
      one.tabIndex = name === chosen ? 0 : -1;
      panel.hidden = name !== chosen;
    }
  }

  /** @param {KeyboardEvent} event */
  _move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const now = TABS.findIndex((name) => this._tabs.get(name)?.tab.tabIndex === 0);
    const next = TABS[(now + step + TABS.length) % TABS.length] ?? '';
    this._choose(next);
    this._tabs.get(next)?.tab.focus();
    event.preventDefault();
  }
}

/** A tab and its panel. @param {string} name */
function tab(name) {
  return {
    tab: labelled('button', `inspector.${name}`, { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, 'data-tab': name }),
    panel: element('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, class: 'inspector-panel', hidden: '' }),
  };
}
