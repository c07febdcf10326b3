/** The loudspeaker and its volume: the list, and the choices, which are kept for the next visit. */

import { element } from './element.js';
import { fill, words } from './words.js';

const KEPT_AS = 'voiceagent.loudspeaker';
const VOLUME_KEPT_AS = 'voiceagent.volume';

export class Loudspeakers {
  /**
   * @param {HTMLSelectElement} select @param {HTMLInputElement} volume from 0 to 100 @param {HTMLElement} note says what does not work
   * @param {readonly HTMLAudioElement[]} players
   */
  constructor(select, volume, note, players) {
    this._select = select;
    this._volume = volume;
    this._note = note;
    this._players = players;
    this._canChoose = 'setSinkId' in HTMLMediaElement.prototype;
    volume.value = localStorage.getItem(VOLUME_KEPT_AS) ?? '100';
    this._setVolume();
    volume.addEventListener('input', () => {
      localStorage.setItem(VOLUME_KEPT_AS, volume.value);
      this._setVolume();
    });
    select.addEventListener('change', () => {
      localStorage.setItem(KEPT_AS, select.value);
      this._choose();
    });
    navigator.mediaDevices?.addEventListener?.('devicechange', () => this.refresh());
  }

  /** Read the list again: names appear once the person has allowed a microphone. */
  async refresh() {
    const devices = this._canChoose ? await navigator.mediaDevices?.enumerateDevices?.() ?? [] : [];
    const options = devices
      .filter(({ kind, deviceId }) => kind === 'audiooutput' && deviceId && deviceId !== 'default' && deviceId !== 'communications')
      .map(({ deviceId, label }, place) => element('option', { value: deviceId }, label || fill(words.sound.numbered, { number: place + 1 })));
    this._select.replaceChildren(element('option', { value: '' }, words.controls.browsersChoice), ...options);
    this._select.value = localStorage.getItem(KEPT_AS) ?? '';
    if (this._select.selectedIndex < 0) this._select.value = '';
    this._select.disabled = !this._canChoose;
    this._note.textContent = this._canChoose ? '' : words.sound.fixed;
    if (this._select.value) await this._choose();
  }

  async _choose() {
    try {
      await Promise.all(this._players.map((player) => player.setSinkId(this._select.value)));
      this._note.textContent = '';
    } catch {
      this._select.value = '';
      this._note.textContent = words.sound.failed;
    }
  }

  _setVolume() {
    for (const player of this._players) player.volume = Number(this._volume.value) / 100;
  }
}
