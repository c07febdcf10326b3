/** Who answers here: the agent's name and language, its profile and models, what these cannot do, and whether they fit the agent at all. */

import { element } from './element.js';
import { language, words } from './words.js';

/** @typedef {import('./lib/protocol.js').About} About */

export class AboutBox {
  /** @param {HTMLDetailsElement} details hidden until it is known @param {HTMLElement} box in it @param {HTMLElement} banner says when the models do not fit the agent */
  constructor(details, box, banner) {
    this._details = details;
    this._box = box;
    this._banner = banner;
  }

  /** What keeps the server from answering calls well now. @param {HTMLElement} box @param {string} reason empty: nothing does */
  static unready(box, reason) {
    box.hidden = !reason;
    if (reason) box.replaceChildren(element('strong', {}, words.about.unready), element('p', { lang: 'en' }, sentence(reason)));
  }

  /** A call begins, and needs the room. */
  fold() {
    this._details.open = false;
  }

  /** What the server tells is English. @param {About | null} about null: it did not tell */
  show(about) {
    if (!about?.profile) return;
    const rows = about.models.map(({ part, name }) => row(words.about[part], name));
    rows.unshift(row(words.about.language, about.languages.map(nameOf).join(', ')));
    rows.push(row(words.about.profile, about.profile, element('small', { lang: 'en' }, about.description)));
    if (about.limits.length) rows.push(row(words.about.limits, element('span', { lang: 'en' }, sentence(about.limits.join('; ')))));
    this._box.replaceChildren(element('strong', {}, about.agent), element('dl', {}, ...rows.flat()));
    this._details.hidden = false;
    this._banner.hidden = !about.unfit;
    if (!about.unfit) return;
    this._banner.replaceChildren(
      element('strong', {}, words.about.unfit), element('p', { lang: 'en' }, sentence(about.unfit.problem)),
      element('small', { lang: 'en' }, sentence(about.unfit.advice)),
    );
  }
}

/** @param {string} name @param {...(Node | string)} values */
function row(name, ...values) {
  return [element('dt', {}, name), element('dd', {}, ...values)];
}

/** A language's name in the page's language. @param {string} code */
function nameOf(code) {
  return new Intl.DisplayNames([language], { type: 'language' }).of(code) ?? code;
}

/** @param {string} text */
function sentence(text) {
  return `${text.replace(/\.$/, '').replace(/^[a-z]+(?= )/, (word) => word.charAt(0).toUpperCase() + word.slice(1))}.`;
}
