/** The waits of a call as a small chart: a bar a turn, the limit as a dashed line. A bar over its budget has a mark, too. */

import { figuresOf } from './call-figures.js';
import { fill, milliseconds, words } from './words.js';

/** @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured */

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 60;
const TOP = 12;
const MAX_BARS = 40;

/** @param {readonly TurnMeasured[]} turns @returns {SVGElement} */
export function waitChart(turns) {
  const shown = turns.filter((turn) => turn.wait_ms !== null).slice(-MAX_BARS);
  const { waits, limit } = figuresOf(shown);
  const most = Math.max(...waits, limit ?? 0, 1);
  const step = 100 / Math.max(shown.length, 8);
  const y = (/** @type {number} */ ms) => HEIGHT - (ms / most) * (HEIGHT - TOP);
  const chart = drawn('svg', { class: 'wait-chart', role: 'img', width: '100%', height: String(HEIGHT) });
  chart.setAttribute('aria-label', fill(words.call.chart, {
    count: shown.length,
    shortest: milliseconds(Math.min(...waits)),
    longest: milliseconds(Math.max(...waits)),
    limit: limit === null ? '–' : milliseconds(limit),
  }));
  shown.forEach((turn, place) => {
    const wait = turn.wait_ms ?? 0;
    const over = turn.missed.length > 0;
    const bar = drawn('rect', {
      class: over ? 'over' : '', rx: '2',
      x: `${place * step + step * 0.1}%`, width: `${step * 0.8}%`, y: y(wait).toFixed(1), height: (HEIGHT - y(wait)).toFixed(1),
    });
    const title = drawn('title', {});
    title.textContent = fill(words.call.turn, { turn: turn.turn, wait: milliseconds(wait) });
    bar.append(title);
    chart.append(bar);
    if (over) chart.append(text('▲', { class: 'over', x: `${place * step + step / 2}%`, y: (y(wait) - 2).toFixed(1), 'text-anchor': 'middle' }));
  });
  if (limit !== null) {
    chart.append(drawn('line', { class: 'limit', x1: '0', x2: '100%', y1: y(limit).toFixed(1), y2: y(limit).toFixed(1) }));
    chart.append(text(
      fill(words.call.limit, { limit: milliseconds(limit) }),
      { class: 'limit', x: '100%', y: (y(limit) - 3).toFixed(1), 'text-anchor': 'end' },
    ));
  }
  return chart;
}

/** @param {string} content @param {Record<string, string>} attributes */
function text(content, attributes) {
  const made = drawn('text', { ...attributes, 'aria-hidden': 'true' });
  made.textContent = content;
  return made;
}

/** @param {string} name @param {Record<string, string>} attributes */
function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value) made.setAttribute(key, value);
  return made;
}
