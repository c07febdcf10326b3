/** What went wrong in a call, in a person's words, from the server's `error` events. */

import { fill, words } from './words.js';

/** The agent had stopped by itself as the person stopped it: nothing is wrong. */
const NO_FAILURE = new Set(['response_cancel_not_active']);

/** @param {{type: string, code: string, message: string}} error @returns {string} empty when there is nothing to tell */
export function failureText({ code, message }) {
  if (NO_FAILURE.has(code)) return '';
  /** @type {Record<string, string>} */
  const known = words.failures;
  return fill(known[code] ?? known.other, { message });
}
