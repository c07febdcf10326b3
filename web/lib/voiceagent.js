/**
 * The client library: one `VoiceAgent` makes one call at a time, over WebRTC, or over a WebSocket where the network lets no UDP
 * through and the server names no TURN server that helps.
 *
 *   const agent = new VoiceAgent();
 *   agent.addEventListener('state', (event) => …);   // detail: {state, reason}
 *   agent.addEventListener('message', (event) => …); // detail: a server event (see protocol.js)
 *   agent.addEventListener('sent', (event) => …);    // detail: a client event that was sent
 *   agent.addEventListener('audio', (event) => …);   // detail: the agent's MediaStream, to be played
 *   agent.addEventListener('transport', (event) => …); // detail: {transport: 'websocket', reason: 'no_udp'}
 *   await agent.connect();                           // throws CallProblem
 *
 * A call whose connection is lost is taken up again over a new one, as long as the server waits for that; meanwhile the state is
 * `resuming`.
 */

import { Conversation } from './conversation.js';
import { closeStream, openMicrophone, silence } from './microphone.js';
import { CallProblem, problemFrom } from './problem.js';
import { EVENT_CHANNEL } from './protocol.js';
import { Pulse, receivedBy, receivedOver } from './pulse.js';
import { RecordingNotice } from './recording.js';

export { CallProblem, RecordingNotice };

/** @typedef {import('./protocol.js').ServerEvent} ServerEvent */
/** @typedef {import('./socket-call.js').SocketCall} SocketCall */
/** @typedef {'idle' | 'asking' | 'connecting' | 'live' | 'unstable' | 'resuming'} CallState */

const GATHERING_MS = 300;
const FIRST_ADDRESS_MS = 2_000;
const CONNECT_MS = 4_500;
const LOST_AFTER_MS = 1_500;
const AGAIN_MS = 1_000;
/** The server's answers that mean that a call cannot be taken up again. After any other, such as 503 while models are loaded, it is tried again. */
const OVER = [400, 401, 403, 409];

export class VoiceAgent extends EventTarget {
  /** @param {{url?: string, key?: string}} [options] `url`: where the server is, this page's by default; `key`: a key or a client secret */
  constructor({ url = '', key = '' } = {}) {
    super();
    this.url = url;
    this.key = key;
    /** @type {CallState} */
    this.state = 'idle';
    /** @type {MediaStream | null} */
    this.microphone = null;
    this.muted = false;
    /** False in a call in which everything is typed. */
    this.hasMicrophone = false;
    /** What was said in this call. */
    this.conversation = new Conversation();
    /** What the browser does to the microphones that are opened from now on. @type {import('./microphone.js').Processing} */
    this.processing = {};
    /** @type {RTCPeerConnection | null} */
    this._peer = null;
    /** @type {SocketCall | null} */
    this._socket = null;
    /** @type {'webrtc' | 'websocket'} */
    this.transport = 'webrtc';
    /** @type {RTCDataChannel | SocketCall | null} */
    this._channel = null;
    /** @type {AbortController | null} */
    this._attempt = null;
    this._location = '';
    this._endReason = '';
    /** What takes the call up again, the last event that came, and how long the server waits. */
    this._token = '';
    this._lastEvent = '';
    this._resumeMs = 0;
    /** @type {RTCPeerConnection[]} Peers that were lost. Each is closed once another has taken its place: sooner would hang up. */
    this._lostPeers = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this._lostTimer = undefined;
    /** @type {Pulse | null} */
    this._pulse = null;
    /** @type {import('./pulse.js').Pulsing} */
    this._pulsing = 'fine';
  }

  /** True from `connect` until the call is over. */
  get busy() {
    return this.state !== 'idle';
  }

  /**
   * Call the agent. Resolves when both can hear each other.
   * @param {{microphoneId?: string, microphone?: boolean}} [options] without a `microphone`, what is said is typed (`sendText`)
   * @throws {CallProblem}
   */
  async connect({ microphoneId = '', microphone: speaks = true } = {}) {
    if (this.busy) return;
    const attempt = new AbortController();
    this._attempt = attempt;
    this._endReason = '';
    this.transport = 'webrtc';
    try {
      if (speaks) this._setState('asking');
      const microphone = speaks ? await unlessCancelled(openMicrophone(microphoneId, this.processing), attempt.signal) : silence();
      this.microphone = microphone;
      this.hasMicrophone = speaks;
      this.conversation.begin();
      this._setState('connecting');
      await this._open(microphone, attempt.signal);
      this._begin();
      if (this._endReason) this._finish(this._endReason);
    } catch (error) {
      this._release();
      this._setState('idle', 'problem');
      throw error;
    }
  }

  /** The connection is up. */
  _begin() {
    this._setState('live');
    const [peer, socket] = [this._peer, this._socket];
    const received = peer ? () => receivedBy(peer) : socket ? receivedOver(socket, this.url) : null;
    if (received) this._pulse = new Pulse(received, this.url, (now) => this._felt(now));
  }

  /** The connection is lost. Take the call up again over a new one, if the server waits for that. */
  async _lost() {
    const microphone = this.microphone;
    if (this._endReason || !this._token || !microphone) return this._finish(this._endReason || 'lost');
    if (this.state === 'resuming') return undefined;
    this._stopWatching();
    const attempt = new AbortController();
    this._attempt = attempt;
    const untilMs = performance.now() + this._resumeMs;
    for (;;) {
      this._setState('resuming', networkCause());
      if (this._peer) this._lostPeers.push(this._peer);
      const trying = new AbortController();
      globalThis.addEventListener('online', () => trying.abort(), { signal: trying.signal });
      const within = () => AbortSignal.any([attempt.signal, trying.signal, AbortSignal.timeout(CONNECT_MS)]);
      try {
        await this._open(microphone, within());
        trying.abort();
        break;
      } catch (error) {
        if (attempt.signal.aborted) return undefined;
        const status = this._socket ? await statusOf(this.url, this._token, within()) : error instanceof CallProblem ? error.status : 0;
        if (attempt.signal.aborted) return undefined;
        const isOver = OVER.includes(status);
        if (isOver || this._endReason || performance.now() > untilMs) return this._finish(this._endReason || 'lost');
        await pause(AGAIN_MS, trying.signal);
        trying.abort();
        if (attempt.signal.aborted) return undefined;
      }
    }
    this._closeLost();
    return this._begin();
  }

  _closeLost() {
    this._lostPeers.splice(0).forEach((peer) => peer.close());
  }

  /** End the call, or stop calling. */
  hangUp() {
    if (!this.busy) return;
    this._attempt?.abort();
    this._tellServer();
    this._finish('hangup');
  }

  /** @param {boolean} muted */
  setMuted(muted) {
    this.muted = muted;
    this.microphone?.getAudioTracks().forEach((track) => { track.enabled = !muted; });
  }

  /**
   * Use another microphone, also in a call.
   * @param {string} deviceId
   * @throws {CallProblem}
   */
  async setMicrophone(deviceId) {
    if (!this._peer && !this._socket) return;
    const next = await openMicrophone(deviceId, this.processing);
    this._socket?.hear(next);
    const sender = this._peer?.getSenders()[0];
    const [track] = next.getAudioTracks();
    if (!track || !(sender || this._socket)) {
      closeStream(next);
      return;
    }
    await sender?.replaceTrack(track);
    closeStream(this.microphone);
    this.microphone = next;
    this.hasMicrophone = true;
    this.setMuted(this.muted);
    this._emit('microphone', next);
  }

  /**
   * Type a message instead of speaking it. The agent stops speaking and answers it.
   * @param {string} text
   * @returns {boolean} false when there is no connection
   */
  sendText(text) {
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
    this.interrupt();
    return this.send({ type: 'conversation.item.create', item }) && this.send({ type: 'response.create' });
  }

  /**
   * Say something else in place of an earlier message, and go on from there. What followed it leaves the conversation; what the agent's
   * tools did by then stays done.
   * @param {string} itemId @param {string} text
   * @returns {Promise<boolean>} false when the server did not take the earlier conversation back
   */
  async goOnFrom(itemId, text) {
    const isBack = await this.conversation.goBackTo(itemId, (event) => this.send(event));
    if (isBack) this.sendText(text);
    return isBack;
  }

  /** Stop the agent's current reply. */
  interrupt() {
    this.send({ type: 'output_audio_buffer.clear' });
  }

  /**
   * Send a client event.
   * @param {Record<string, unknown>} event
   * @returns {boolean} false when there is no call
   */
  send(event) {
    if (this._channel?.readyState !== 'open') return false;
    this._channel.send(JSON.stringify(event));
    this._emit('sent', event);
    return true;
  }

  /** @param {MediaStream} microphone @param {AbortSignal} signal */
  async _open(microphone, signal) {
    if (this.transport === 'websocket') return this._openSocket(microphone, signal);
    try {
      return await this._openPeer(microphone, signal);
    } catch (error) {
      const isBlocked = error instanceof CallProblem && error.code === 'connect_timeout';
      if (!isBlocked || this._token || signal.aborted) throw error;
      const peer = this._peer;
      this._peer = null;
      peer?.close();
      await this._tellServer();
      await this._openSocket(microphone, signal).catch((problem) => { throw signal.aborted ? problem : error; });
      this.transport = 'websocket';
      return this._emit('transport', { transport: 'websocket', reason: 'no_udp' });
    }
  }

  /** @param {MediaStream} microphone @param {AbortSignal} signal */
  async _openSocket(microphone, signal) {
    const { LOST_CODE, SocketCall } = await import('./socket-call.js');
    if (signal.aborted) throw new CallProblem('cancelled', 'The call was hung up.');
    const socket = new SocketCall(this.url, this._token || this.key, this._token && this._lastEvent);
    socket.addEventListener('message', (event) => this._receive(/** @type {MessageEvent} */ (event).data, socket));
    socket.addEventListener('close', () => this._socket === socket && this.state !== 'resuming' && this._lost());
    this._socket?.close(LOST_CODE);
    this._channel = this._socket = socket;
    await socket.open(microphone, signal);
    this._emit('audio', socket.stream);
  }

  /** @param {MediaStream} microphone @param {AbortSignal} signal */
  async _openPeer(microphone, signal) {
    // Audio and events share one transport. With a transport each, a browser asks a relay for twice as many ports, and may get only those
    // of the transport that the answer closes.
    const peer = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceServers: await this._iceServers(signal) });
    this._peer = peer;
    peer.addTrack(microphone.getAudioTracks()[0], microphone);
    peer.addEventListener('track', (event) => this._emit('audio', event.streams[0] ?? new MediaStream([event.track])));
    const channel = peer.createDataChannel(EVENT_CHANNEL);
    this._channel = channel;
    channel.addEventListener('message', (event) => this._receive(String(event.data), peer));
    channel.addEventListener('close', () => this._peer === peer && this.state !== 'resuming' && this._lost());
    await peer.setLocalDescription();
    await gathered(peer);
    if (!hasAddress(peer)) {
      throw new CallProblem('connect_timeout', 'The browser has no address to call from.');
    }
    const answer = await this._exchange(peer.localDescription?.sdp ?? '', signal);
    if (signal.aborted) {
      if (!this._token) this._tellServer();
      throw new CallProblem('cancelled', 'The call was hung up.');
    }
    const connected = this._connected(peer, channel, signal);
    connected.catch(() => undefined);
    await peer.setRemoteDescription({ type: 'answer', sdp: answer });
    await connected;
  }

  /**
   * The servers that find a way through firewalls, where the operator has some. What keeps the server from telling, the offer meets too.
   * @param {AbortSignal} signal
   * @returns {Promise<RTCIceServer[]>}
   */
  async _iceServers(signal) {
    try {
      const response = await fetch(`${this.url}/v1/voiceagent/ice_servers`, { signal, headers: this._authorization() });
      return response.ok ? (await response.json()).iceServers : [];
    } catch {
      return [];
    }
  }

  /**
   * Which models answer at the server and what they cannot do; null while it does not tell.
   * @returns {Promise<import('./protocol.js').About | null>}
   */
  async about() {
    try {
      const response = await fetch(`${this.url}/v1/voiceagent/about`, { headers: this._authorization() });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }

  /**
   * Why the server is not ready, such as an engine that is down; empty where it is ready or does not tell.
   * @returns {Promise<string>}
   */
  async unready() {
    try {
      const state = await (await fetch(`${this.url}/readyz`, { cache: 'no-store' })).json();
      return state.ready === false ? String(state.reason ?? '') : '';
    } catch {
      return '';
    }
  }

  /** @param {string} offer @param {AbortSignal} signal @returns {Promise<string>} */
  async _exchange(offer, signal) {
    if (!/^[\x21-\x7e]*$/.test(this.key)) throw new CallProblem('invalid_api_key', 'A key holds letters, digits and signs, without spaces.');
    /** @type {Response} */
    let response;
    const resumes = this._token !== '';
    const headers = { 'Content-Type': 'application/sdp', ...(resumes ? { Authorization: `Bearer ${this._token}` } : this._authorization()) };
    try {
      response = await fetch(`${this.url}/v1/realtime/calls${resumes ? `?after=${this._lastEvent}` : ''}`, {
        method: 'POST', body: offer, signal, headers,
      });
    } catch (error) {
      if (signal.aborted) throw new CallProblem('cancelled', 'The call was hung up.');
      throw new CallProblem('server_unreachable', error instanceof Error ? error.message : String(error));
    }
    if (!response.ok) throw await problemFrom(response, resumes || this.key !== '');
    this._location = response.headers.get('Location') ?? '';
    return response.text();
  }

  /** @param {RTCPeerConnection} peer @param {RTCDataChannel} channel @param {AbortSignal} signal @returns {Promise<void>} */
  _connected(peer, channel, signal) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new CallProblem('connect_timeout', `No connection within ${CONNECT_MS / 1000} seconds.`)), CONNECT_MS,
      );
      const check = () => {
        if (peer.connectionState === 'connected' && channel.readyState === 'open') {
          clearTimeout(late);
          resolve();
        } else if (peer.connectionState === 'failed' && (this.state === 'connecting' || this.state === 'resuming')) {
          clearTimeout(late);
          reject(new CallProblem('connect_timeout', 'The browser found no way to the server.'));
        }
        this._watch(peer);
      };
      peer.addEventListener('connectionstatechange', check);
      channel.addEventListener('open', check);
      signal.addEventListener('abort', () => {
        clearTimeout(late);
        reject(new CallProblem('cancelled', 'The call was hung up.'));
      });
    });
  }

  /** Notice a connection that wavers, comes back or is lost. @param {RTCPeerConnection} peer */
  _watch(peer) {
    if (this._peer !== peer) return;
    const state = peer.connectionState;
    if (state === 'failed' || state === 'closed') {
      if (this.state === 'live' || this.state === 'unstable') this._lost();
    } else if (state === 'connected' && this._pulsing === 'fine') this._steady();
    else this._wavers();
  }

  _steady() {
    clearTimeout(this._lostTimer);
    if (this.state === 'unstable') this._setState('live');
  }

  _wavers() {
    if (this.state !== 'live') return;
    this._setState('unstable', networkCause());
    this._lostTimer = setTimeout(() => this._lost(), LOST_AFTER_MS);
  }

  /** What comes from the server has stopped or comes again. @param {import('./pulse.js').Pulsing} now */
  _felt(now) {
    this._pulsing = now;
    if (now === 'gone') this._lost();
    else if (this._peer) this._watch(this._peer);
    else if (now === 'quiet') this._wavers();
    else this._steady();
  }

  /** @param {string} text @param {RTCPeerConnection | SocketCall} from */
  _receive(text, from) {
    /** @type {ServerEvent} */
    const event = JSON.parse(text);
    if (from !== (this._socket ?? this._peer)) return; // what an earlier connection still brings comes again over this one
    this._lastEvent = event.event_id ?? this._lastEvent;
    if (event.type === 'voiceagent.resume') {
      this._token = event.token;
      this._resumeMs = event.timeout_s * 1000;
    }
    if (event.type === 'voiceagent.replaced') {
      this._finish('replaced');
      return;
    }
    this.conversation.take(event);
    this._emit('message', event);
    if (event.type === 'voiceagent.call_ended') {
      this._endReason = event.reason;
      this._finish(event.reason);
    }
  }

  /** @param {string} reason */
  _finish(reason) {
    if (!['live', 'unstable', 'resuming'].includes(this.state)) return;
    this._attempt?.abort();
    this._release();
    this._setState('idle', reason);
  }

  _stopWatching() {
    clearTimeout(this._lostTimer);
    this._pulse?.stop();
    this._pulse = null;
    this._pulsing = 'fine';
  }

  _release() {
    this._stopWatching();
    this._closeLost();
    this._token = '';
    const peer = this._peer;
    this._peer = null;
    this._channel = null;
    this._location = '';
    peer?.close();
    const socket = this._socket;
    this._socket = null;
    socket?.close();
    closeStream(this.microphone);
    this.microphone = null;
    this.hasMicrophone = false;
    this.muted = false;
  }

  /** Let the server free the call at once; it would notice by itself, later. */
  async _tellServer() {
    if (!this._location) return;
    const where = new URL(this._location, new URL(this.url || '/', globalThis.location.href));
    this._location = '';
    await fetch(`${where}/hangup`, { method: 'POST', keepalive: true, headers: this._authorization() }).catch(() => undefined);
  }

  /** @returns {Record<string, string>} */
  _authorization() {
    return /^[\x21-\x7e]+$/.test(this.key) ? { Authorization: `Bearer ${this.key}` } : {};
  }

  /** @param {CallState} state @param {string} [reason] */
  _setState(state, reason = '') {
    this.state = state;
    this._emit('state', { state, reason });
  }

  /** @param {string} type @param {unknown} detail */
  _emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/**
 * The server's answer to a resume token; 0 if there is none. A WebSocket does not say why it was refused. The same request without an
 * upgrade changes nothing: 401 if the token is worth nothing any more, 426 if it is good.
 * @param {string} url @param {string} token @param {AbortSignal} signal @returns {Promise<number>}
 */
async function statusOf(url, token, signal) {
  try {
    return (await fetch(`${url}/v1/realtime`, { headers: { Authorization: `Bearer ${token}` }, cache: 'no-store', signal })).status;
  } catch {
    return 0;
  }
}

/** What a browser knows of the cause of a silence. @returns {'offline' | ''} */
function networkCause() {
  return navigator.onLine ? '' : 'offline';
}

/** @param {number} ms @param {AbortSignal} sooner @returns {Promise<void>} */
function pause(ms, sooner) {
  return new Promise((resolve) => {
    if (sooner.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    sooner.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
    return undefined;
  });
}

/**
 * The microphone, unless the person hangs up before the browser's question was answered; then it is closed again.
 * @param {Promise<MediaStream>} opening @param {AbortSignal} signal
 * @returns {Promise<MediaStream>}
 */
function unlessCancelled(opening, signal) {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new CallProblem('cancelled', 'The call was hung up.')));
    opening.then((stream) => (signal.aborted ? closeStream(stream) : resolve(stream)), reject);
  });
}

/**
 * Wait until the offer holds this machine's addresses. Once it holds one, not long: the server learns them from the first packet anyway.
 * @param {RTCPeerConnection} peer
 * @returns {Promise<void>}
 */
function gathered(peer) {
  return new Promise((resolve) => {
    if (peer.iceGatheringState === 'complete') return resolve();
    const late = setTimeout(() => hasAddress(peer) && resolve(), GATHERING_MS);
    const none = setTimeout(resolve, FIRST_ADDRESS_MS);
    peer.addEventListener('icecandidate', () => hasAddress(peer) && setTimeout(resolve, GATHERING_MS));
    peer.addEventListener('icegatheringstatechange', () => {
      if (peer.iceGatheringState === 'complete') {
        clearTimeout(late);
        clearTimeout(none);
        resolve();
      }
    });
    return undefined;
  });
}

/** Media goes by UDP alone, or over a relay, whose candidates say `udp`, too. @param {RTCPeerConnection} peer */
function hasAddress(peer) {
  return /^a=candidate:\S+ \d+ udp /im.test(peer.localDescription?.sdp ?? '');
}
