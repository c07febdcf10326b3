/** The microphone picker: the list, the choice (kept for the next visit), and a test that shows the level before a call. */

import { element } from './element.js';
import { closeStream, listMicrophones, openMicrophone } from './lib/microphone.js';
import { fill, words } from './words.js';

const KEPT_AS = 'voiceagent.microphone';
const TEST_MS = 20_000;

export class Microphones extends EventTarget {
  /** @param {HTMLSelectElement} select @param {HTMLButtonElement} button */
  constructor(select, button) {
    super();
    this._select = select;
    this._button = button;
    /** @type {MediaStream | null} */
    this._tested = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._timer = undefined;
    select.addEventListener('change', () => this._chosen());
    button.addEventListener('click', () => (this._tested ? this.stopTest() : this._test()));
    navigator.mediaDevices?.addEventListener?.('devicechange', () => this.refresh());
  }

  /** The chosen microphone's id; empty for the browser's choice. */
  get id() {
    return this._select.value;
  }

  /** Read the list again: names appear once the person has allowed a microphone. */
  async refresh() {
    const chosen = this._select.value || (localStorage.getItem(KEPT_AS) ?? '');
    this._button.textContent = this._tested ? words.controls.stopTest : words.controls.test;
    const found = await listMicrophones();
    const options = found
      .filter(({ id }) => id !== 'default' && id !== 'communications')
      .map(({ id, name }, index) => element('option', { value: id }, name || fill(words.controls.numbered, { number: index + 1 })));
    this._select.replaceChildren(element('option', { value: '' }, words.controls.browsersChoice), ...options);
    this._select.value = chosen;
    if (this._select.selectedIndex < 0) this._select.value = '';
  }

  stopTest() {
    clearTimeout(this._timer);
    closeStream(this._tested);
    this._tested = null;
    this._button.setAttribute('aria-pressed', 'false');
    this._button.textContent = words.controls.test;
    this.dispatchEvent(new CustomEvent('test', { detail: null }));
  }

  async _test() {
    try {
      this._tested = await openMicrophone(this.id);
    } catch (error) {
      this.dispatchEvent(new CustomEvent('problem', { detail: error }));
      return;
    }
    this._button.setAttribute('aria-pressed', 'true');
    this._button.textContent = words.controls.stopTest;
    this._timer = setTimeout(() => this.stopTest(), TEST_MS);
    this.dispatchEvent(new CustomEvent('test', { detail: this._tested }));
    await this.refresh();
  }

  _chosen() {
    localStorage.setItem(KEPT_AS, this.id);
    if (this._tested) {
      this.stopTest();
      this._test();
    }
    this.dispatchEvent(new CustomEvent('chosen', { detail: this.id }));
  }
}
