/** Elements that are made by a script and have their words from `words.js`: they change with the page's language, as those of the page do. */

import { element } from './element.js';
import { word } from './words.js';

/**
 * An element whose text is the word at a path.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {string} path such as `inspector.title` @param {Record<string, string>} [attributes]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function labelled(tag, path, attributes = {}) {
  return element(tag, { ...attributes, 'data-word': path }, word(path));
}

/**
 * A control under its label.
 * @param {string} path of the label @param {HTMLElement} control
 */
export function field(path, control) {
  return element('label', { class: 'field' }, labelled('span', path), control);
}

/** A box to tick, with its label behind it. @param {string} path @param {HTMLInputElement} box */
export function check(path, box) {
  return element('label', { class: 'check' }, box, labelled('span', path));
}

/** Copy a text, and say so on the button for a moment. @param {HTMLButtonElement} button @param {string} text */
export async function copy(button, text) {
  const before = button.dataset.word ?? '';
  let told = 'inspector.copied';
  await navigator.clipboard.writeText(text).catch(() => { told = 'inspector.notCopied'; });
  button.textContent = word(told);
  setTimeout(() => { button.textContent = word(before); }, 2_000);
}
