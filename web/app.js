/** The page: wires the call, the controls and what is shown of the call together. */

import { AboutBox } from './about.js';
import { Captions } from './captions.js';
import { byId } from './element.js';
import { CallProblem } from './lib/problem.js';
import { RecordingNotice, VoiceAgent } from './lib/voiceagent.js';
import { VoiceTimeline } from './voice-timeline.js';
import { Meter, audioContext } from './meter.js';
import { Microphones } from './microphones.js';
import { STATUS_TEXT, after } from './call-status.js';
import { StepGraphs } from './step-graphs.js';
import { Problems } from './problems.js';
import { Waterfalls } from './waterfall.js';
import { failureText } from './failures.js';

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */

const KEY_KEPT_AS = 'voiceagent.key';
const OWN_MACHINE = /^(localhost|127\.[\d.]+|\[::1\])$/;

const agent = new VoiceAgent({ key: sessionStorage.getItem(KEY_KEPT_AS) ?? '' });
const callButton = byId('call', HTMLButtonElement);
const muteButton = byId('mute', HTMLButtonElement);
const stopButton = byId('stop', HTMLButtonElement);
const message = byId('message', HTMLInputElement);
const sendButton = byId('send', HTMLButtonElement);
const speaker = byId('speaker', HTMLAudioElement);
const level = byId('microphone-level', HTMLElement);
const captions = new Captions(byId('transcript', HTMLElement), byId('announcer', HTMLElement));
const waterfalls = new Waterfalls(byId('turns', HTMLElement), byId('times-empty', HTMLElement));
const microphones = new Microphones(byId('microphones', HTMLSelectElement), byId('test', HTMLButtonElement));
const about = new AboutBox(byId('about', HTMLElement), byId('unfit', HTMLElement));
const steps = new StepGraphs(byId('steps', HTMLElement), byId('step-graphs', HTMLElement));
const recording = new RecordingNotice(byId('recording', HTMLElement), navigator.languages);
const timeline = new VoiceTimeline(byId('voice-timeline', HTMLCanvasElement));
const problems = new Problems(byId('problem', HTMLElement), {
  again: call,
  key: (key) => {
    agent.key = key;
    sessionStorage.setItem(KEY_KEPT_AS, key);
    call();
  },
});

/** @type {import('./call-status.js').CallStatus} */
let status = 'idle';
/** @type {Meter | null} */
let callerMeter = null;
/** @type {Meter | null} */
let agentMeter = null;
let liveSinceMs = 0;

async function call() {
  if (agent.busy) return;
  audioContext();
  microphones.stopTest();
  problems.clear();
  try {
    await agent.connect({ microphoneId: microphones.id });
    meterCaller(agent.microphone);
    await microphones.refresh();
  } catch (error) {
    problems.show(error instanceof CallProblem ? error : new CallProblem('offer_refused', String(error)));
  }
}

/** @param {import('./lib/voiceagent.js').CallState} state @param {string} reason */
function showState(state, reason) {
  document.body.dataset.state = state;
  const inCall = state === 'live' || state === 'unstable' || state === 'resuming';
  byId('call-text', HTMLElement).textContent = state === 'idle' ? 'Call' : inCall ? 'Hang up' : 'Cancel';
  muteButton.disabled = !inCall;
  message.disabled = !inCall;
  sendButton.disabled = !inCall;
  byId('test', HTMLButtonElement).hidden = state !== 'idle';
  if (inCall) problems.wavers(state);
  showMuted();
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
    byId('welcome', HTMLElement).hidden = true;
  }
  if (state === 'idle') {
    endCall(reason);
  }
}

/** @param {string} reason */
function endCall(reason) {
  liveSinceMs = 0;
  captions.end();
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
  byId('status-text', HTMLElement).textContent = STATUS_TEXT[next];
  stopButton.hidden = next !== 'speaking';
}

/** @param {ServerEvent} event */
function take(event) {
  const next = after(status, event);
  if (next !== status) showStatus(next);
  captions.take(event);
  steps.take(event);
  recording.take(event);
  if (event.type === 'voiceagent.turn') waterfalls.add(event);
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
  if (name) byId('agent-name', HTMLElement).textContent = name;
}

async function tellReadiness() {
  AboutBox.unready(byId('unready', HTMLElement), await agent.unready());
}

async function tellAbout() {
  const told = await agent.about();
  about.show(told);
  steps.show(told?.steps ?? []);
}

/** @param {MediaStream | null} stream */
function meterCaller(stream) {
  callerMeter?.close();
  callerMeter = stream ? new Meter(stream) : null;
  if (stream) requestAnimationFrame(tick);
  else showLevel(0);
}

/** Show the levels, again and again while there is something to measure. */
let ticking = false;
function tick() {
  if (ticking) return;
  ticking = true;
  requestAnimationFrame((nowMs) => {
    ticking = false;
    const caller = callerMeter && !(agent.muted && agent.busy) ? callerMeter.read() : 0;
    const spoken = agentMeter?.read() ?? 0;
    showLevel(caller);
    if (agent.busy) {
      timeline.add(spoken, caller, nowMs);
      byId('clock', HTMLElement).textContent = clock(liveSinceMs ? nowMs - liveSinceMs : 0);
    }
    if (callerMeter || agentMeter) tick();
  });
}

/** @param {number} value */
function showLevel(value) {
  const bar = /** @type {HTMLElement} */ (level.firstElementChild);
  bar.style.transform = `scaleX(${value.toFixed(3)})`;
  level.setAttribute('aria-valuenow', String(Math.round(value * 10) * 10));
}

/** @param {number} elapsedMs */
function clock(elapsedMs) {
  const seconds = Math.max(0, Math.floor(elapsedMs / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function toggleMute() {
  if (muteButton.disabled) return;
  agent.setMuted(!agent.muted);
  showMuted();
}

function showMuted() {
  muteButton.setAttribute('aria-pressed', String(agent.muted));
  const label = /** @type {HTMLElement} */ (muteButton.lastElementChild);
  label.textContent = agent.muted ? 'Muted' : 'Mute';
}

function toggleCall() {
  if (agent.busy) agent.hangUp();
  else call();
}

callButton.addEventListener('click', toggleCall);
muteButton.addEventListener('click', toggleMute);
stopButton.addEventListener('click', () => agent.interrupt());

byId('typing', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text) return;
  agent.sendText(text);
  message.value = '';
});

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
agent.addEventListener('microphone', (event) => meterCaller(/** @type {CustomEvent} */ (event).detail));
agent.addEventListener('transport', () => { byId('transport', HTMLElement).hidden = false; });
agent.addEventListener('audio', (event) => {
  const stream = /** @type {CustomEvent} */ (event).detail;
  speaker.srcObject = stream;
  agentMeter?.close();
  agentMeter = new Meter(stream);
});
microphones.addEventListener('test', (event) => meterCaller(/** @type {CustomEvent} */ (event).detail));
microphones.addEventListener('problem', (event) => problems.show(/** @type {CustomEvent} */ (event).detail));
microphones.addEventListener('chosen', (event) => {
  if (!agent.busy) return;
  agent.setMicrophone(/** @type {CustomEvent} */ (event).detail).catch((error) => problems.show(error));
});
addEventListener('pagehide', () => agent.hangUp());

if (!globalThis.isSecureContext) problems.show(new CallProblem('insecure_context', location.origin));
microphones.refresh();
tellReadiness();
// Another machine's server may want a key: it is asked again in the call.
if (agent.key || OWN_MACHINE.test(location.hostname)) tellAbout();
