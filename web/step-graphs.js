/**
 * The agent's steps as a small graph: a row a step, the ways between them drawn beside the rows, the current step marked as the call
 * goes. An agent that the call may be handed off to has a graph of its own. Without steps nothing is shown.
 */

import { element } from './element.js';
import { fill, words } from './words.js';

/**
 * @typedef {import('./lib/protocol.js').AgentSteps} AgentSteps
 * @typedef {import('./lib/protocol.js').Step} Step
 * @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent
 */

const SVG = 'http://www.w3.org/2000/svg';
const LANE_PX = 9;
const MAX_LANES = 6;
const DOT_PX = 5;

/**
 * The lanes in which the ways between rows are drawn, so that none crosses another one in its lane: the shortest ways are nearest to
 * the rows. A way to the next row is straight, in lane 0.
 * @param {[number, number][]} ways from row to row
 * @returns {number[]} the lane of each
 */
export function lanes(ways) {
  const order = ways.map((_, index) => index).sort((a, b) => Math.abs(ways[a][0] - ways[a][1]) - Math.abs(ways[b][0] - ways[b][1]));
  /** @type {[number, number][][]} */
  const taken = [];
  const found = ways.map(() => 0);
  for (const index of order) {
    const [from, to] = ways[index];
    if (to === from + 1) continue;
    const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
    let lane = taken.findIndex((spans) => spans.every(([above, below]) => bottom <= above || below <= top));
    if (lane < 0) lane = taken.length < MAX_LANES ? taken.push([]) - 1 : MAX_LANES - 1;
    taken[lane].push([top, bottom]);
    found[index] = lane + 1;
  }
  return found;
}

export class StepGraphs {
  /** @param {HTMLElement} section hidden while the agent has no steps @param {HTMLElement} box takes the graphs */
  constructor(section, box) {
    this._section = section;
    this._box = box;
    /** @type {Graph[]} */
    this._graphs = [];
    this._told = '';
    this._now = 0;
    this._current = '';
    /** @type {Map<string, unknown>} the values that are known */
    this._known = new Map();
    new ResizeObserver(() => this._graphs.forEach((graph) => graph.draw())).observe(box);
  }

  /** @param {AgentSteps[]} agents */
  show(agents) {
    this._section.hidden = !agents.length;
    const told = JSON.stringify(agents);
    if (told === this._told) return;
    this._told = told;
    this._graphs = agents.map((one) => new Graph(one, agents));
    this._box.replaceChildren(...this._graphs.map((graph) => (agents.length > 1 ? graph.folded() : graph.box)));
    this._mark();
  }

  /** A call begins. */
  begin() {
    this._now = 0;
    this._current = '';
    this._known.clear();
    this._graphs.forEach((graph) => graph.forget());
    this._mark();
  }

  /** @param {ServerEvent} event */
  take(event) {
    if (event.type === 'voiceagent.step') {
      this._current = event.step;
      this._mark();
    } else if (event.type === 'voiceagent.handoff') {
      this._handOff();
    } else if (event.type === 'voiceagent.value' && event.stage === 'confirmed') {
      this._know({ [event.name]: event.value });
    } else if (event.type === 'voiceagent.tool' && event.status === 'completed' && event.ok) {
      this._tool(event.name, event.output ?? '');
    }
  }

  /** The tools by which the model walks: it notes values, or starts over. @param {string} name @param {string} output */
  _tool(name, output) {
    if (name !== 'note' && name !== 'go_to_step') return;
    const result = parsed(output);
    const graph = this._graphs[this._now];
    if (name === 'note') {
      this._know(result.noted ?? {});
    } else if (result.step === graph?.first) {
      this._known.clear();
      graph.forget();
    }
  }

  /** Another agent goes on, with the values that it gets. */
  _handOff() {
    const step = this._graphs[this._now]?.step(this._current);
    if (!step || step.handoff === null) return;
    const passed = [...this._known].filter(([name]) => !step.passes || step.passes.includes(name));
    this._now = step.handoff;
    this._current = '';
    this._known.clear();
    this._graphs[this._now]?.forgetValues();
    this._know(Object.fromEntries(passed));
    this._mark();
  }

  /** @param {Record<string, unknown>} values */
  _know(values) {
    for (const [name, value] of Object.entries(values)) {
      this._known.set(name, value);
      this._graphs[this._now]?.know(name, value);
    }
  }

  _mark() {
    this._graphs.forEach((graph, index) => graph.mark(index === this._now ? this._current : ''));
  }
}

class Graph {
  /** @param {AgentSteps} agent @param {AgentSteps[]} agents */
  constructor(agent, agents) {
    this._name = agent.agent;
    this._steps = agent.steps;
    this._list = element('ol', { class: 'step-list' });
    this._svg = document.createElementNS(SVG, 'svg');
    this._svg.setAttribute('aria-hidden', 'true');
    this.box = element('div', { class: 'step-graph' }, this._svg, this._list);
    /** @type {Map<string, HTMLLIElement>} */
    this._rows = new Map();
    for (const step of agent.steps) {
      const row = this._row(step, agents);
      this._rows.set(step.name, row);
      this._list.append(row);
    }
    const places = new Map(agent.steps.map((step, index) => [step.name, index]));
    /** @type {[number, number][]} */
    this._ways = agent.steps.flatMap((step, from) => step.next
      .map((name) => places.get(name))
      .filter((to) => to !== undefined && to !== from)
      .map((to) => /** @type {[number, number]} */ ([from, /** @type {number} */ (to)])));
    this._lanes = lanes(this._ways);
    this._lane = Math.max(0, ...this._lanes);
    this.box.style.setProperty('--gutter', `${(this._lane + 2) * LANE_PX}px`);
  }

  /** The name of the first step. */
  get first() {
    return this._steps[0]?.name;
  }

  /** @param {Step} step @param {AgentSteps[]} agents @returns {HTMLLIElement} */
  _row(step, agents) {
    const title = element('span', { class: 'name', 'data-now': words.steps.now }, readable(step.name));
    const row = element('li', { 'data-step': step.name }, title);
    const notes = [];
    if (step.everywhere) notes.push(words.steps.anyTime);
    if (step.handoff !== null) notes.push(fill(words.steps.handsOff, { agent: agents[step.handoff]?.agent ?? words.steps.otherAgent }));
    if (notes.length) row.append(element('span', { class: 'note' }, notes.join(', ')));
    if (step.next.length) row.append(element('span', { class: 'hidden' }, fill(words.steps.leadsTo, { steps: step.next.map(readable).join(', ') })));
    row.append(element('span', { class: 'hidden seen' }));
    if (step.values.length) {
      row.append(element('dl', {}, ...step.values.flatMap((value) => [
        element('dt', {}, readable(value)), element('dd', { 'data-value': value }, '–'),
      ])));
    }
    return row;
  }

  /** The graph under the name of its agent, of which it may have several. @returns {HTMLElement} */
  folded() {
    this._fold = element('details', { class: 'agent-steps' }, element('summary', {}, this._name), this.box);
    this._fold.addEventListener('toggle', () => this.draw());
    return this._fold;
  }

  /** @param {string} name @returns {Step | undefined} */
  step(name) {
    return this._steps.find((one) => one.name === name);
  }

  /** @param {string} name @param {unknown} value */
  know(name, value) {
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    this._list.querySelectorAll(`[data-value="${CSS.escape(name)}"]`).forEach((place) => {
      place.textContent = shown;
      place.classList.add('known');
    });
  }

  /** Nothing is known, and no step was seen. */
  forget() {
    this.forgetValues();
    this._rows.forEach((row) => this._see(row, false));
  }

  forgetValues() {
    this._list.querySelectorAll('dd').forEach((place) => { place.textContent = '–'; place.classList.remove('known'); });
  }

  /** @param {string} current empty: the call is in none of these steps */
  mark(current) {
    this._rows.forEach((row, name) => {
      if (name === current) {
        row.setAttribute('aria-current', 'step');
        this._see(row, true);
      } else {
        row.removeAttribute('aria-current');
      }
    });
    if (this._fold && current) this._fold.open = true;
    this.draw();
  }

  /** @param {HTMLLIElement} row @param {boolean} seen */
  _see(row, seen) {
    row.classList.toggle('seen', seen);
    /** @type {HTMLElement} */ (row.querySelector('.hidden.seen')).textContent = seen ? words.steps.seen : '';
  }

  /** Draw the ways beside the rows, where these are now. */
  draw() {
    const height = this._list.offsetHeight;
    if (!height) return;
    const rows = [...this._rows.values()];
    const middle = rows.map((row) => {
      const title = /** @type {HTMLElement} */ (row.firstElementChild);
      return title.offsetTop + title.offsetHeight / 2;
    });
    const right = (this._lane + 1) * LANE_PX;
    this._svg.setAttribute('width', String(right + DOT_PX + 4));
    this._svg.setAttribute('height', String(height));
    const ways = this._ways.map(([from, to], index) => drawn('path', {
      d: way(middle[from], middle[to], right, right - this._lanes[index] * LANE_PX),
      class: `way ${to < from ? 'back' : ''}`,
    }));
    const dots = rows.map((row, index) => drawn('circle', {
      cx: String(right), cy: String(middle[index]), r: String(DOT_PX),
      class: row.hasAttribute('aria-current') ? 'now' : row.classList.contains('seen') ? 'seen' : '',
    }));
    const heads = this._ways.map(([from, to], index) => drawn('path', {
      d: head(middle[from], middle[to], right, this._lanes[index] === 0), class: 'head',
    }));
    this._svg.replaceChildren(...ways, ...dots, ...heads);
  }
}

/** A way from one dot to another one: straight down, or round by a lane. */
function way(/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ right, /** @type {number} */ lane) {
  if (lane === right) return `M${right} ${from}V${to}`;
  const bend = Math.min(LANE_PX, Math.abs(to - from) / 2) * Math.sign(to - from);
  const side = Math.min(LANE_PX, right - lane);
  return `M${right} ${from}H${lane + side}Q${lane} ${from} ${lane} ${from + bend}V${to - bend}Q${lane} ${to} ${lane + side} ${to}H${right}`;
}

/** The arrow's head at the end of a way. */
function head(/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ right, /** @type {boolean} */ straight) {
  if (straight) return `M${right - 4} ${to - DOT_PX - 5}h8l-4 5z`;
  return `M${right - DOT_PX - 5} ${to - 4}v8l5 -4z`;
}

/** @param {string} name @param {Record<string, string>} attributes */
function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** @param {string} output of a tool; what is no JSON holds nothing @returns {{noted?: Record<string, unknown>, step?: string}} */
function parsed(output) {
  try {
    return JSON.parse(output) ?? {};
  } catch {
    return {};
  }
}

/** @param {string} name of a step or a value */
function readable(name) {
  return name.replaceAll('_', ' ');
}
