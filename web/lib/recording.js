/** The notice that a call is recorded, in the languages that agents speak: from the moment it is, and once it is no more. */

/** @typedef {import('./protocol.js').ServerEvent} ServerEvent */

/** @type {Record<string, [string, string]>} While a call is recorded, and when it is no more. */
const WORDS = {
  en: ['This call is being recorded.', 'This call is no longer recorded.'],
  de: ['Dieser Anruf wird aufgezeichnet.', 'Dieser Anruf wird nicht mehr aufgezeichnet.'],
  es: ['Esta llamada se está grabando.', 'Esta llamada ya no se graba.'],
  fr: ['Cet appel est enregistré.', 'Cet appel n’est plus enregistré.'],
  it: ['Questa chiamata viene registrata.', 'Questa chiamata non viene più registrata.'],
  nl: ['Dit gesprek wordt opgenomen.', 'Dit gesprek wordt niet meer opgenomen.'],
  pt: ['Esta chamada está a ser gravada.', 'Esta chamada já não está a ser gravada.'],
};

export class RecordingNotice {
  /**
   * @param {HTMLElement} place a `role="status"` that is in the page before there is a call, so that it is read out. It has the
   *   class `on` while the call is recorded
   * @param {readonly string[]} languages in the order in which they are wanted
   */
  constructor(place, languages) {
    this._place = place;
    const language = languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((code) => code in WORDS) ?? 'en';
    place.lang = language;
    this._words = WORDS[language];
  }

  /** @param {ServerEvent} event */
  take(event) {
    if (event.type === 'voiceagent.recording') this._show(event.recording);
    if (event.type === 'session.created') this._show(event.session.voiceagent?.recording ?? false);
  }

  clear() {
    this._place.textContent = '';
    this._place.classList.remove('on');
  }

  /** @param {boolean} isOn */
  _show(isOn) {
    const text = this._words[isOn ? 0 : 1];
    if (this._place.textContent === text || !(isOn || this._place.textContent)) return;
    this._place.textContent = text;
    this._place.classList.toggle('on', isOn);
  }
}
