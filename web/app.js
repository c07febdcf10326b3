/** The page: wires the call, the controls and what is shown of the call together. */

import { AboutBox } from './about.js';
import { CallLog } from './call-log.js';
import { CallPanel } from './call-panel.js';
import { CallSummary } from './call-summary.js';
import { Captions } from './captions.js';
import { clock } from './downloads.js';
import { byId } from './element.js';
import { Examples } from './examples.js';
import { CallProblem } from './lib/problem.js';
import { RecordingNotice, VoiceAgent } from './lib/voiceagent.js';
import { Loudspeakers } from './loudspeakers.js';
import { SoundPanel } from './sound-panel.js';
import { STEP_MS, VoiceTimeline } from './voice-timeline.js';
import { Meter, audioContext } from './meter.js';
import { Microphones } from './microphones.js';
import { after } from './call-status.js';
import { StepGraphs } from './step-graphs.js';
import { Problems } from './problems.js';
import { Waterfalls } from './waterfall.js';
import { EditedTurns } from './edited-turns.js';
import { Inspector } from './inspector.js';
import { Typing } from './typing.js';
import { failureText } from './failures.js';
import { language, speak, words } from './words.js';

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */

const FRAME_MS = 10; // a timer ends before the frame that is drawn for it
const STILL_MS = 200;
const KEY_KEPT_AS = 'voiceagent.key';
const OWN_MACHINE = /^(localhost|127\.[\d.]+|\[::1\])$/;

const agent = new VoiceAgent({ key: sessionStorage.getItem(KEY_KEPT_AS) ?? '' });
const callButton = byId('call', HTMLButtonElement);
const muteButton = byId('mute', HTMLButtonElement);
const stopButton = byId('stop', HTMLButtonElement);
const speaker = byId('speaker', HTMLAudioElement);
const level = byId('microphone-level', HTMLElement);
const captions = new Captions(byId('transcript', HTMLElement), byId('announcer', HTMLElement));
const waterfalls = new Waterfalls(byId('turns', HTMLElement), byId('times-empty', HTMLElement));
const microphones = new Microphones(byId('microphones', HTMLSelectElement), byId('test', HTMLButtonElement));
const about = new AboutBox(byId('about', HTMLDetailsElement), byId('about-box', HTMLElement), byId('unfit', HTMLElement));
const log = new CallLog();
const panel = new CallPanel(byId('call-panel', HTMLElement), byId('call-figures', HTMLElement), log);
const summary = new CallSummary(byId('summary', HTMLElement), log, () => agent.key);
const steps = new StepGraphs(byId('steps', HTMLElement), byId('step-graphs', HTMLElement));
let recording = new RecordingNotice(byId('recording', HTMLElement), navigator.languages);
const ownVoice = byId('own-voice', HTMLAudioElement);
const loudspeakers = new Loudspeakers(
  byId('loudspeakers', HTMLSelectElement), byId('volume', HTMLInputElement), byId('loudspeaker-note', HTMLElement), [speaker, ownVoice],
);
const sound = new SoundPanel(
  byId('sound-panel', HTMLElement), byId('sound', HTMLButtonElement), byId('hear', HTMLButtonElement), ownVoice, () => microphones.id,
);
const examples = new Examples(
  byId('examples', HTMLElement), byId('example-list', HTMLElement), byId('examples-hint', HTMLElement),
  { call: (text) => (problems.isOfMicrophone ? typing.say(text) : call()), send: (text) => agent.sendText(text) },
);
const timeline = new VoiceTimeline(byId('voice-timeline', HTMLCanvasElement));
const typing = new Typing(byId('typing', HTMLFormElement), agent, () => call({ microphone: false }));
new EditedTurns(byId('transcript', HTMLElement), agent, (problem) => captions.failed(problem));
new Inspector(byId('inspector', HTMLElement), byId('inspect', HTMLButtonElement), agent);
const problems = new Problems(byId('problem', HTMLElement), {
  again: () => call(lastCall),
  key: (key) => {
    agent.key = key;
    sessionStorage.setItem(KEY_KEPT_AS, key);
    call(lastCall);
  },
});

/** @type {import('./call-status.js').CallStatus} */
let status = 'idle';
/** @type {Meter | null} */
let callerMeter = null;
/** @type {Meter | null} */
let agentMeter = null;
let liveSinceMs = 0;
/** How the last call was made. @type {{microphone?: boolean}} */
let lastCall = {};

/** @param {{microphone?: boolean}} how without a microphone, what the caller says is typed */
async function call(how = {}) {
  if (agent.busy) return;
  lastCall = how;
  audioContext();
  microphones.stopTest();
  problems.clear();
  try {
    agent.processing = sound.processing;
    await agent.connect({ microphoneId: microphones.id, ...how });
    meterCaller(agent.microphone);
    await Promise.all([microphones.refresh(), loudspeakers.refresh()]);
  } catch (error) {
    problems.show(error instanceof CallProblem ? error : new CallProblem('offer_refused', String(error)));
  }
}

/** @param {import('./lib/voiceagent.js').CallState} state @param {string} reason */
function showState(state, reason) {
  document.body.dataset.state = state;
  const inCall = state === 'live' || state === 'unstable' || state === 'resuming';
  muteButton.disabled = !inCall;
  typing.showState(state);
  byId('test', HTMLButtonElement).hidden = state !== 'idle';
  byId('hear', HTMLButtonElement).disabled = state !== 'idle';
  examples.showState(state);
  if (inCall) problems.wavers(state, reason);
  if (state === 'resuming') captions.lost();
  showWords();
  if (state === 'live') {
    if (!liveSinceMs) liveSinceMs = performance.now();
    showStatus(['connecting', 'unstable', 'resuming'].includes(status) ? 'listening' : status);
    requestAnimationFrame(tick);
  } else {
    showStatus(state);
  }
  if (state === 'asking' || state === 'idle') byId('transport', HTMLElement).hidden = true;
  if (state === 'connecting') {
    captions.begin();
    waterfalls.begin();
    steps.begin();
    log.begin();
    panel.begin();
    summary.clear();
    about.fold();
    document.body.dataset.called = '';
    byId('welcome', HTMLElement).hidden = true;
  }
  if (state === 'idle') {
    endCall(reason);
  }
}

/** @param {string} reason */
function endCall(reason) {
  liveSinceMs = 0;
  if (reason === 'lost') captions.lost();
  captions.end();
  log.end();
  if (document.body.dataset.panel) showTimes(false);
  summary.show();
  timeline.clear();
  recording.clear();
  meterCaller(null);
  agentMeter?.close();
  agentMeter = null;
  speaker.srcObject = null;
  byId('welcome', HTMLElement).hidden = byId('transcript', HTMLElement).childElementCount > 0;
  if (reason !== 'problem') problems.ended(reason);
  tellReadiness();
}

/** @param {import('./call-status.js').CallStatus} next */
function showStatus(next) {
  status = next;
  byId('status', HTMLElement).dataset.status = next;
  byId('status-text', HTMLElement).textContent = words.status[next];
  stopButton.hidden = next !== 'speaking';
}

/** @param {ServerEvent} event */
function take(event) {
  const next = after(status, event);
  if (next !== status) showStatus(next);
  log.take(event);
  captions.take(event);
  typing.take(event);
  steps.take(event);
  recording.take(event);
  if (event.type === 'voiceagent.turn') waterfalls.add(event);
  if (event.type === 'voiceagent.turn' || event.type === 'session.created') panel.show();
  if (event.type === 'conversation.item.input_audio_transcription.completed' && event.transcript.trim()) examples.said();
  if (event.type === 'conversation.item.added' && event.item.role === 'user') examples.said();
  if (event.type === 'error') {
    captions.failed(failureText(event.error));
    tellReadiness();
  }
  if (event.type === 'session.created') {
    showAgent(event.session.voiceagent?.agent ?? '');
    tellAbout();
  }
  if (event.type === 'voiceagent.handoff') showAgent(event.agent);
}

/** @param {string} name */
function showAgent(name) {
  captions.setAgent(name);
  showName(name);
}

/** @param {string} name */
function showName(name) {
  if (!name) return;
  byId('agent-name', HTMLElement).textContent = name;
  document.title = name;
}

async function tellReadiness() {
  AboutBox.unready(byId('unready', HTMLElement), await agent.unready());
}

async function tellAbout() {
  const told = await agent.about();
  if (told) await speakAs(told.languages);
  about.show(told);
  if (told && !agent.busy) showName(told.agent);
  examples.show(told?.examples ?? []);
  steps.show(told?.steps ?? []);
}

/** On a telephone: show the times in place of the conversation. @param {boolean} shown */
function showTimes(shown) {
  document.body.dataset.panel = shown ? 'times' : '';
  byId('show-times', HTMLElement).setAttribute('aria-pressed', String(shown));
  scrollTo(0, 0);
}

/** Write the words that depend on the call's state. */
function showWords() {
  const { call: start, hangUp, cancel } = words.controls;
  const inCall = agent.busy && !muteButton.disabled;
  byId('call-text', HTMLElement).textContent = inCall ? hangUp : agent.busy ? cancel : start;
  byId('status-text', HTMLElement).textContent = words.status[status];
  showMuted();
}

/** Have the page speak the agent's language. @param {readonly string[]} languages */
async function speakAs(languages) {
  const before = language;
  await speak(languages);
  if (language === before) return;
  recording = new RecordingNotice(byId('recording', HTMLElement), [language]);
  showWords();
  microphones.refresh();
  loudspeakers.refresh();
}

/** @param {MediaStream | null} stream */
function meterCaller(stream) {
  callerMeter?.close();
  callerMeter = stream ? new Meter(stream) : null;
  if (stream) requestAnimationFrame(tick);
  else showLevel(0);
}

/** Show the levels, again and again while there is something to measure. They need no more frames than the timeline has steps. */
let ticking = false;
const still = matchMedia('(prefers-reduced-motion: reduce)');
function tick() {
  if (ticking) return;
  ticking = true;
  setTimeout(() => requestAnimationFrame((nowMs) => {
    ticking = false;
    const caller = callerMeter && !(agent.muted && agent.busy) ? callerMeter.read() : 0;
    const spoken = agentMeter?.read() ?? 0;
    showLevel(caller);
    if (agent.busy) {
      timeline.add(spoken, caller, nowMs);
      byId('clock', HTMLElement).textContent = clock(liveSinceMs ? nowMs - liveSinceMs : 0);
    }
    if (callerMeter || agentMeter) tick();
  }), still.matches ? STILL_MS : STEP_MS - FRAME_MS);
}

/** @param {number} value */
function showLevel(value) {
  const bar = /** @type {HTMLElement} */ (level.firstElementChild);
  bar.style.transform = `scaleX(${value.toFixed(3)})`;
  level.setAttribute('aria-valuenow', String(Math.round(value * 10) * 10));
}

function toggleMute() {
  if (muteButton.disabled) return;
  if (!agent.hasMicrophone) {
    agent.setMicrophone(microphones.id).catch((error) => problems.show(error));
    return;
  }
  agent.setMuted(!agent.muted);
  showMuted();
}

function showMuted() {
  muteButton.setAttribute('aria-pressed', String(agent.muted));
  const label = /** @type {HTMLElement} */ (muteButton.lastElementChild);
  const { speak: useMicrophone, muted, mute } = words.controls;
  label.textContent = agent.busy && !agent.hasMicrophone ? useMicrophone : agent.muted ? muted : mute;
}

function toggleCall() {
  if (agent.busy) agent.hangUp();
  else call();
}

callButton.addEventListener('click', toggleCall);
muteButton.addEventListener('click', toggleMute);
stopButton.addEventListener('click', () => agent.interrupt());

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const typing = event.target instanceof HTMLElement && event.target.closest('input, select, textarea');
  const pressing = event.target instanceof HTMLElement && event.target.closest('button, summary, a');
  if (event.key === 'Escape' && status === 'speaking') agent.interrupt();
  else if (typing) return;
  else if (event.key === ' ' && !pressing) {
    event.preventDefault();
    toggleCall();
  } else if (event.key.toLowerCase() === 'm') toggleMute();
});

agent.addEventListener('state', (event) => {
  const { state, reason } = /** @type {CustomEvent} */ (event).detail;
  showState(state, reason);
});
agent.addEventListener('message', (event) => take(/** @type {CustomEvent} */ (event).detail));
agent.addEventListener('microphone', (event) => {
  meterCaller(/** @type {CustomEvent} */ (event).detail);
  showMuted();
});
agent.addEventListener('sent', (event) => log.sent(/** @type {CustomEvent} */ (event).detail));
agent.addEventListener('transport', () => { byId('transport', HTMLElement).hidden = false; });
agent.addEventListener('audio', (event) => {
  const stream = /** @type {CustomEvent} */ (event).detail;
  speaker.srcObject = stream;
  agentMeter?.close();
  agentMeter = new Meter(stream);
});
for (const event of ['test', 'problem']) {
  sound.addEventListener(event, (found) => microphones.dispatchEvent(new CustomEvent(event, { detail: /** @type {CustomEvent} */ (found).detail })));
}
sound.addEventListener('changed', () => {
  agent.processing = sound.processing;
  if (agent.hasMicrophone) agent.setMicrophone(microphones.id).catch((error) => problems.show(error));
});
byId('show-times', HTMLButtonElement).addEventListener('click', () => showTimes(document.body.dataset.panel !== 'times'));
microphones.addEventListener('test', (event) => meterCaller(/** @type {CustomEvent} */ (event).detail));
microphones.addEventListener('problem', (event) => problems.show(/** @type {CustomEvent} */ (event).detail));
microphones.addEventListener('chosen', (event) => {
  if (!agent.hasMicrophone) return;
  agent.setMicrophone(/** @type {CustomEvent} */ (event).detail).catch((error) => problems.show(error));
});
addEventListener('pagehide', () => agent.hangUp());

speakAs(navigator.languages);
if (!globalThis.isSecureContext) problems.show(new CallProblem('insecure_context', location.origin));
microphones.refresh();
loudspeakers.refresh();
tellReadiness();
// Another machine's server may want a key: it is asked again in the call.
if (agent.key || OWN_MACHINE.test(location.hostname)) tellAbout();
