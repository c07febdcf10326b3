/** A tool call as a card: its name and arguments as they were called, and what came of it. */

import { element } from './element.js';
import { words } from './words.js';

/** @typedef {import('./lib/protocol.js').ToolProgress} ToolProgress */

/** @param {ToolProgress} tool @returns {HTMLLIElement} */
export function toolCard(tool) {
  const failed = tool.status === 'completed' && tool.ok === false;
  const status = failed ? 'failed' : tool.status;
  const box = element(
    'div', { class: 'box' },
    element(
      'div', { class: 'title' },
      element('code', {}, `${tool.name}(${shortArguments(tool.arguments)})`),
      element('span', { class: 'state' }, words.tools[status]),
    ),
  );
  if (tool.output !== null) box.append(result(tool.output));
  return element('li', { class: 'tool', 'data-status': status, 'data-tool': tool.name, 'data-arguments': tool.arguments }, box);
}

/** `{"city":"Paris"}` as `city: "Paris"`; what is no JSON object stays as it is. @param {string} text */
function shortArguments(text) {
  const value = parse(text);
  if (!isObject(value)) return text;
  return Object.entries(value).map(([name, part]) => `${name}: ${JSON.stringify(part)}`).join(', ');
}

/** @param {string} text */
function result(text) {
  const value = parse(text);
  const list = element('dl');
  const entries = isObject(value) ? Object.entries(value) : [[words.tools.result, value ?? text]];
  for (const [name, part] of entries) {
    list.append(element('dt', {}, String(name)), element('dd', {}, typeof part === 'string' ? part : JSON.stringify(part)));
  }
  return list;
}

/** @param {string} text @returns {unknown} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
