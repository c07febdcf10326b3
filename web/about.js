/** What answers here and what it cannot do: the profile and its models, and a word where the language model does not fit the agent. */

import { element } from './element.js';

/** @typedef {import('./lib/protocol.js').About} About */

export class AboutBox {
  /** @param {HTMLElement} line names the models @param {HTMLElement} banner says when they do not fit the agent */
  constructor(line, banner) {
    this._line = line;
    this._banner = banner;
  }

  /** What keeps the server from answering calls well now. @param {HTMLElement} box @param {string} reason empty: nothing does */
  static unready(box, reason) {
    box.hidden = !reason;
    if (reason) box.replaceChildren(element('strong', {}, 'The agent cannot answer as it should.'), element('p', {}, sentence(reason)));
  }

  /** @param {About | null} about null: the server did not tell */
  show(about) {
    if (!about?.profile) return;
    const names = about.models.map((model) => model.name).join(' · ');
    this._line.replaceChildren(
      element('span', { title: about.description }, 'Profile ', element('strong', {}, about.profile)), element('span', {}, names),
    );
    if (about.limits.length) this._line.append(element('span', {}, sentence(about.limits.join('; '))));
    this._line.hidden = false;
    this._banner.hidden = !about.unfit;
    if (!about.unfit) return;
    this._banner.replaceChildren(
      element('strong', {}, 'This agent needs a larger model.'), element('p', {}, sentence(about.unfit.problem)),
      element('small', {}, sentence(about.unfit.advice)),
    );
  }
}

/** @param {string} text */
function sentence(text) {
  return `${text.replace(/\.$/, '').replace(/^[a-z]+(?= )/, (word) => word.charAt(0).toUpperCase() + word.slice(1))}.`;
}
