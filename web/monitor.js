/** The operator's monitor: what goes on in the server, again and again, and the call that the address names (`#call=ID`). */

import { CallMonitor } from './call-monitor.js';
import { byId, element } from './element.js';
import { follow } from './server-events.js';

/** @typedef {import('./lib/problem.js').CallProblem} CallProblem */
/** @typedef {Record<string, any>} Row */

const KEY_KEPT_AS = 'voiceagent.key';
/** The server sends something every two seconds. */
const SILENT_MS = 5_000;

let key = sessionStorage.getItem(KEY_KEPT_AS) ?? '';
let following = new AbortController();
/** @type {Row | null} */
let told = null;
/** Our clock's lead over the server's. */
let aheadMs = 0;
const one = new CallMonitor(() => key);

function connect() {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  follow('/v1/voiceagent/monitor', {
    key,
    signal,
    silentMs: SILENT_MS,
    take: show,
    told: (state, problem, status) => {
      if (signal.aborted) return;
      if (state === 'live') back();
      else if (state === 'lost') lost();
      else refused(problem, status ?? 0);
    },
  });
}

/** @param {Row} found */
function show(found) {
  if (found.closed) return;
  aheadMs = Date.now() - found.at * 1000;
  if (found.calls) told = found;
  else if (told) found = told;
  else return;
  byId('agent-name', HTMLElement).textContent = `${found.agent} · Monitor`;
  byId('overview', HTMLElement).hidden = false;
  showAlerts(found);
  showBudget(found.budget);
  showCalls(found);
  showStages(found.stages);
  showEnded(found);
  byId('version', HTMLElement).textContent = `voiceagent ${found.version}, profile ${found.profile}.`;
  one.showFacts(found.calls.find((/** @type {Row} */ call) => call.id === one.id));
}

/** @param {Row} found */
function showAlerts(found) {
  /** @type {Row[]} */
  const alerts = [...found.alerts];
  if (found.reason) alerts.unshift({ name: 'NotReady', severity: 'page', text: found.reason });
  if (found.store_fails) alerts.push({ name: 'StoreFails', severity: 'warn', text: 'Ended calls cannot be read; the server’s log says why.' });
  const rows = alerts.map(({ name, severity, text }) => element('li', { class: severity }, element('strong', {}, name), ` ${text}`));
  const list = byId('alerts', HTMLElement);
  const shown = rows.length ? rows : [element('li', {}, 'None is active: calls are answered.')];
  if (list.textContent !== shown.map((row) => row.textContent).join('')) list.replaceChildren(...shown);
}

/** @param {Row[]} shares */
function showBudget(shares) {
  const names = ['5 minutes', 'An hour', 'Since the start'];
  byId('budget', HTMLElement).replaceChildren(...shares.map(({ turns, over }, place) => element(
    'div', over > 0.05 * turns ? { class: 'over' } : {},
    element('dt', {}, names[place] ?? ''),
    element('dd', {}, turns ? `${Math.round((100 * over) / turns)} % ` : '– ', element('small', {}, turns ? `${over} of ${turns} turns` : 'no turn')),
  )));
}

/** @param {Row} found */
function showCalls({ calls, running, places, waiting }) {
  const of = places ? ` of ${places}` : '';
  byId('places', HTMLElement).textContent = `${running}${of}${waiting ? `, ${waiting} wait` : ''}`;
  byId('calls-none', HTMLElement).hidden = calls.length > 0;
  list('calls', calls, (call) => [
    call.caller ? `${call.caller} (${call.leg})` : call.leg,
    call.language ? `${call.agent} (${call.language})` : call.agent,
    call.step,
    `${call.state} ${length(call.since)}`,
    length(call.started),
    String(call.turns),
    ms(call.voice_to_voice_ms, call.over),
  ]);
}

/** @param {Row} found */
function showEnded({ ended }) {
  const none = byId('ended-none', HTMLElement);
  none.hidden = (ended ?? []).length > 0;
  none.textContent = ended === null ? 'No calls are kept here. records.keep in agent.yaml says which are.' : 'No kept call has ended yet.';
  list('ended', ended ?? [], (call) => [
    call.leg,
    call.agent,
    new Date(call.started * 1000).toLocaleString(),
    span(call.length_s),
    String(call.turns),
    ms(call.p50_ms),
    ms(call.worst_ms),
    call.failures ? `${call.reason}, ${call.failures} failures` : call.reason,
  ]);
}

/** @param {Record<string, Row[]>} legs */
function showStages(legs) {
  const place = byId('stages', HTMLElement);
  byId('stages-none', HTMLElement).hidden = Object.keys(legs).length > 0;
  const tables = Object.entries(legs).map(([leg, stages]) => element(
    'table', { class: 'list stages' },
    element('caption', {}, `Calls by ${leg}, in milliseconds: measured / limit`),
    element('thead', {}, element('tr', {}, ...['Stage', 'Count', 'p50', 'p95'].map((name, at) => (
      element('th', at ? { scope: 'col', class: 'number' } : { scope: 'col' }, name))))),
    element('tbody', {}, ...stages.map((stage) => element(
      'tr', {},
      element('th', { scope: 'row' }, stage.stage),
      element('td', { class: 'number' }, String(stage.count)),
      ...['p50', 'p95'].map((name) => {
        const over = stage.over.includes(name);
        const text = `${over ? '▲ ' : ''}${whole(stage[`${name}_ms`])} / ${whole(stage[`limit_${name}_ms`])}`;
        return element('td', { class: over ? 'number over' : 'number' }, text);
      }),
    ))),
  ));
  if (place.textContent !== tables.map((table) => table.textContent).join('')) place.replaceChildren(...tables);
}

/**
 * Show calls as rows of a table. A row that stays is changed in place, so that it keeps the focus.
 * @param {string} id of the table @param {Row[]} calls @param {(call: Row) => (string | {text: string, over: boolean})[]} cellsOf
 */
function list(id, calls, cellsOf) {
  const table = byId(id, HTMLTableElement);
  table.hidden = calls.length === 0;
  const heads = [...table.querySelectorAll('thead th')].slice(1);
  const body = /** @type {HTMLElement} */ (table.tBodies[0]);
  const before = new Map([...body.children].map((row) => [/** @type {HTMLElement} */ (row).dataset.call, row]));
  const rows = calls.map((call) => {
    const cells = cellsOf(call);
    const row = before.get(call.id) ?? element(
      'tr', { 'data-call': call.id },
      element('th', { scope: 'row' }, element('a', { href: `#call=${call.id}`, title: call.id }, call.id.replace(/^rtc_/, '').slice(0, 8))),
      ...heads.map((head) => element('td', { class: head.className, 'data-name': head.textContent ?? '' })),
    );
    row.setAttribute('aria-current', String(call.id === one.id));
    cells.forEach((cell, place) => {
      const shown = /** @type {Element} */ (row.children[place + 1]);
      const text = typeof cell === 'string' ? cell : cell.text;
      if (shown.textContent !== text) shown.textContent = text;
      if (typeof cell !== 'string') shown.classList.toggle('over', cell.over);
    });
    return row;
  });
  if (rows.length !== body.childElementCount || rows.some((row, place) => body.children[place] !== row)) body.replaceChildren(...rows);
}

/** @param {number} since in seconds of the server's clock */
function length(since) {
  return span((Date.now() - aheadMs) / 1000 - since);
}

/** @param {number} seconds */
function span(seconds) {
  const all = Math.max(0, Math.floor(seconds));
  const minutes = `${Math.floor(all / 60) % 60}`;
  const hours = Math.floor(all / 3600);
  return `${hours ? `${hours}:${minutes.padStart(2, '0')}` : minutes}:${String(all % 60).padStart(2, '0')}`;
}

/** @param {number | null} value @param {boolean} [over] */
function ms(value, over = false) {
  return value === null ? { text: '', over } : { text: `${over ? '▲ ' : ''}${whole(value)} ms`, over };
}

/** @param {number | null} value */
function whole(value) {
  return value === null ? '–' : Math.round(value).toLocaleString('en');
}

function back() {
  byId('alerts-now', HTMLElement).hidden = false;
  status('live', 'Live');
  problem('', '');
}

function lost() {
  byId('alerts-now', HTMLElement).hidden = true;
  status('lost', 'Server lost');
  problem('The server does not answer.', told ? 'What you see is from before. It is tried again, and goes on by itself.' : 'It is tried again, and goes on by itself.');
}

/** @param {CallProblem | undefined} why @param {number} answer the server's status */
function refused(why, answer) {
  told = null;
  one.open('');
  byId('overview', HTMLElement).hidden = true;
  status('refused', 'Not allowed');
  if (answer === 403 && why?.code !== 'origin_not_allowed') {
    problem('This key may not look at calls.', 'A monitor’s or an operator’s key may: voiceagent keys add NAME --monitor makes one.', true);
  } else if (why?.code === 'missing_api_key') problem('This server wants a key.', 'Enter a monitor’s or an operator’s key. It is kept until you close this tab.', true);
  else if (answer === 401) problem('The server does not know this key.', 'It is wrong, or was revoked. Enter another one.', true);
  else problem('The server refuses this page.', why?.message ?? '');
}

/** @param {string} state @param {string} text */
function status(state, text) {
  byId('status', HTMLElement).dataset.status = state;
  byId('status-text', HTMLElement).textContent = text;
}

/** @param {string} title @param {string} advice @param {boolean} [askForKey] */
function problem(title, advice, askForKey = false) {
  const box = byId('problem', HTMLElement);
  box.hidden = !title;
  if (box.firstElementChild?.textContent === title && title && !askForKey) return;
  box.replaceChildren(element('strong', {}, title), element('p', {}, advice));
  if (!askForKey) return;
  const input = element('input', { type: 'password', 'aria-label': 'Key', autocomplete: 'off', required: '' });
  const form = element('form', {}, input, element('button', { type: 'submit', class: 'quiet' }, 'Look with this key'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    key = input.value.trim();
    sessionStorage.setItem(KEY_KEPT_AS, key);
    connect();
    openNamed();
  });
  box.append(form);
}

function openNamed() {
  one.open(new URLSearchParams(location.hash.slice(1)).get('call') ?? '');
  if (told) show(told);
}

addEventListener('hashchange', () => {
  openNamed();
  if (one.id) byId('call-title', HTMLElement).focus();
});
connect();
openNamed();
