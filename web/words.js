/**
 * The page's words, in the language that the agent speaks: one file a language in `words/`, loaded when it is wanted. A module reads
 * `words.part.name` when it writes, and keeps no word. An element with `data-word="part.name"` has that word as its text, one with
 * `data-word-placeholder` (or another attribute's name) has it there.
 */

import { words as english } from './words/en.js';

/** @typedef {import('./words/en.js').Words} Words */

/** The languages with a file. */
export const LANGUAGES = ['de', 'en', 'es', 'fr', 'it', 'nl', 'pt'];
const ATTRIBUTES = ['aria-label', 'placeholder', 'title'];

/** @type {Words} */
export let words = english;
/** The code of their language. */
export let language = 'en';

/**
 * Speak the first of these languages that has a file, else English, and write the words that stand in the page.
 * @param {readonly string[]} tags such as `de` or `pt-BR`
 */
export async function speak(tags) {
  const wanted = tags.map((tag) => tag.slice(0, 2).toLowerCase()).find((code) => LANGUAGES.includes(code)) ?? 'en';
  if (wanted !== language) ({ words } = await import(`./words/${wanted}.js`));
  language = wanted;
  document.documentElement.lang = wanted;
  for (const place of document.querySelectorAll('[data-word]')) place.textContent = word(place.getAttribute('data-word') ?? '');
  for (const name of ATTRIBUTES) {
    for (const place of document.querySelectorAll(`[data-word-${name}]`)) {
      place.setAttribute(name, word(place.getAttribute(`data-word-${name}`) ?? ''));
    }
  }
}

/**
 * A word with its gaps filled: `fill(words.times.turn, {turn: 3})`.
 * @param {string} text @param {Record<string, string | number>} gaps
 */
export function fill(text, gaps) {
  return text.replace(/\{(\w+)\}/g, (gap, name) => String(gaps[name] ?? gap));
}

/** @param {number} value in milliseconds */
export function milliseconds(value) {
  return `${Math.round(value).toLocaleString(language)} ms`;
}

/** Without their unit. @param {number} value in milliseconds */
export function seconds(value) {
  return (value / 1000).toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** @param {string} path such as `controls.call` */
export function word(path) {
  /** @type {any} */
  let found = words;
  for (const name of path.split('.')) found = found?.[name];
  if (typeof found !== 'string') throw new Error(`words/en.js has no ${path}`);
  return found;
}
