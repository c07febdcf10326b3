/** The panel of sound: what the browser does to the microphone, and a test in which one hears oneself. Both also work in a call. */

import { closeStream, openMicrophone } from './lib/microphone.js';
import { words } from './words.js';

/** @typedef {import('./lib/microphone.js').Processing} Processing */

const KEPT_AS = 'voiceagent.processing';
const TEST_MS = 3_000;

export class SoundPanel extends EventTarget {
  /**
   * @param {HTMLElement} panel @param {HTMLButtonElement} opener @param {HTMLButtonElement} test @param {HTMLAudioElement} player
   * @param {() => string} microphone the id of the chosen one
   */
  constructor(panel, opener, test, player, microphone) {
    super();
    this._panel = panel;
    this._opener = opener;
    this._test = test;
    this._player = player;
    this._microphone = microphone;
    this._isTesting = false;
    /** @type {HTMLInputElement[]} each named after what it switches */
    this._switches = [...panel.querySelectorAll('input[type="checkbox"]')].filter((input) => input instanceof HTMLInputElement);
    const kept = read();
    for (const input of this._switches) {
      input.checked = kept[/** @type {keyof Processing} */ (input.name)] ?? true;
      input.addEventListener('change', () => this._changed());
    }
    opener.addEventListener('click', () => this._open(panel.hidden));
    panel.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this._open(false);
    });
    panel.querySelector('.close')?.addEventListener('click', () => this._open(false));
    test.addEventListener('click', () => this._hear());
  }

  /** What the browser is to do to the microphone. @returns {Processing} */
  get processing() {
    return Object.fromEntries(this._switches.map((input) => [input.name, input.checked]));
  }

  /** @param {boolean} open */
  _open(open) {
    this._panel.hidden = !open;
    this._opener.setAttribute('aria-expanded', String(open));
    if (open) /** @type {HTMLElement} */ (this._panel.querySelector('select, input'))?.focus();
    else this._opener.focus();
  }

  _changed() {
    localStorage.setItem(KEPT_AS, JSON.stringify(this.processing));
    this.dispatchEvent(new Event('changed'));
  }

  /** Record a moment, show its level meanwhile, and play it. */
  async _hear() {
    if (this._isTesting) return;
    this._isTesting = true;
    try {
      const stream = await openMicrophone(this._microphone(), this.processing);
      this._test.textContent = words.sound.recording;
      this.dispatchEvent(new CustomEvent('test', { detail: stream }));
      const said = await recorded(stream, TEST_MS);
      closeStream(stream);
      this.dispatchEvent(new CustomEvent('test', { detail: null }));
      this._test.textContent = words.sound.playing;
      await played(this._player, said);
    } catch (error) {
      this.dispatchEvent(new CustomEvent('problem', { detail: error }));
    }
    this._test.textContent = words.sound.hear;
    this._isTesting = false;
  }
}

/** @returns {Processing} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEPT_AS) ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/** @param {MediaStream} stream @param {number} lengthMs @returns {Promise<Blob>} */
function recorded(stream, lengthMs) {
  return new Promise((resolve, reject) => {
    const recorder = new MediaRecorder(stream);
    /** @type {Blob[]} */
    const pieces = [];
    recorder.addEventListener('dataavailable', (event) => pieces.push(event.data));
    recorder.addEventListener('stop', () => resolve(new Blob(pieces, { type: recorder.mimeType })));
    recorder.addEventListener('error', () => reject(new Error('The browser could not record.')));
    recorder.start();
    setTimeout(() => recorder.stop(), lengthMs);
  });
}

/** @param {HTMLAudioElement} player @param {Blob} sound @returns {Promise<void>} */
async function played(player, sound) {
  const url = URL.createObjectURL(sound);
  player.src = url;
  try {
    await player.play();
    await new Promise((resolve) => {
      player.addEventListener('ended', resolve, { once: true });
      player.addEventListener('error', resolve, { once: true });
    });
  } finally {
    URL.revokeObjectURL(url);
    player.removeAttribute('src');
  }
}
