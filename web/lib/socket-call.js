/**
 * A call over a WebSocket, for networks that let no UDP through: the microphone goes out in events, and the agent's voice comes in
 * events. What a browser over WebRTC is told of the playout (`output_audio_buffer.*`) is told here from what is really played.
 */

import { CallProblem } from './problem.js';

const RATE_HZ = 24_000;
const LEAD_S = 0.06;
/** With this code a WebSocket is left whose call goes on, or may go on, over another one. */
export const LOST_CODE = 4_000;
/** So long a server that has opened the WebSocket may take to go on with the call, when the attempt was to be given up: it is back. */
const BEGIN_MS = 3_000;

/** @type {{audio: AudioContext, isLoaded: Promise<void>} | null} */
let shared = null;

/** The audio of all calls of this page. Its worklet is loaded once: a server that was lost could not give it to a call that is taken up again. */
function sharedAudio() {
  if (!shared) {
    const audio = new AudioContext();
    const isLoaded = audio.audioWorklet.addModule(new URL('./capture.js', import.meta.url));
    isLoaded.catch(() => { shared = null; });
    shared = { audio, isLoaded };
  }
  return shared;
}

export class SocketCall extends EventTarget {
  /**
   * @param {string} url the server's address
   * @param {string} key a key, a client secret or a resume token; empty where none is needed
   * @param {string} after the last event of the call that is taken up again
   */
  constructor(url, key, after) {
    super();
    const address = new URL(`${url}/v1/realtime`, globalThis.location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    address.search = `?voiceagent_events=true${after ? `&after=${after}` : ''}`;
    this._socket = new WebSocket(address, key ? ['realtime', `openai-insecure-api-key.${key}`] : ['realtime']);
    /** The code with which an attempt is given up: 1000 would end a call that is to be taken up again. */
    this._givenUp = after ? LOST_CODE : 1000;
    const { audio, isLoaded } = sharedAudio();
    this._audio = audio;
    this._isLoaded = isLoaded;
    this._isClosed = false;
    this._voice = this._audio.createMediaStreamDestination();
    /** @type {MediaStreamAudioSourceNode | null} */
    this._microphone = null;
    /** @type {AudioWorkletNode | null} */
    this._capture = null;
    /** @type {Set<AudioBufferSourceNode>} */
    this._playing = new Set();
    this._untilS = 0;
    this._response = '';
    /** The messages that came. */
    this.received = 0;
  }

  /** The agent's voice, to be played. */
  get stream() {
    return this._voice.stream;
  }

  /** As a data channel has it. */
  get readyState() {
    return this._socket.readyState === WebSocket.OPEN ? 'open' : 'closed';
  }

  /**
   * Resolves when the server has begun the call.
   * @param {MediaStream} microphone @param {AbortSignal} signal
   * @throws {CallProblem}
   */
  async open(microphone, signal) {
    const begun = new Promise((resolve, reject) => {
      this._socket.addEventListener('message', resolve, { once: true });
      this._socket.addEventListener('close', (event) => reject(
        new CallProblem(event.reason ? 'offer_refused' : 'server_unreachable', event.reason || 'The WebSocket was refused.'),
      ));
      signal.addEventListener('abort', () => setTimeout(
        () => reject(new CallProblem('cancelled', 'The call was hung up.')), this._givenUp === LOST_CODE && this.readyState === 'open' ? BEGIN_MS : 0,
      ));
    });
    begun.catch(() => undefined);
    this._socket.addEventListener('message', (event) => this._receive(String(event.data)));
    this._socket.addEventListener('close', () => this.dispatchEvent(new Event('close')));
    try {
      await this._isLoaded;
      this._capture = new AudioWorkletNode(this._audio, 'capture', { numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit' });
      this._capture.port.onmessage = ({ data }) => this.readyState === 'open' && this.send(JSON.stringify(
        { type: 'input_audio_buffer.append', audio: btoa(String.fromCharCode(...new Uint8Array(data.buffer))) },
      ));
      this.hear(microphone);
      await Promise.all([begun, this._audio.resume()]);
    } catch (error) {
      this.close(this._givenUp);
      throw error;
    }
  }

  /** Use this microphone from now on. @param {MediaStream} microphone */
  hear(microphone) {
    if (!this._capture) return;
    this._microphone?.disconnect();
    this._microphone = this._audio.createMediaStreamSource(microphone);
    this._microphone.connect(this._capture);
  }

  /** @param {string} text */
  send(text) {
    if (text.includes('"output_audio_buffer.clear"')) this._drop();
    this._socket.send(text);
  }

  /** @param {number} [code] of the WebSocket; 1000 ends the call */
  close(code = 1000) {
    this._socket.close(code);
    if (this._isClosed) return;
    this._isClosed = true;
    this._microphone?.disconnect();
    this._capture?.port.close();
    this._response = '';
    if (code === 1000) this._audio.suspend().catch(() => undefined);
    const playing = [...this._playing];
    this._playing.clear();
    playing.forEach((source) => source.stop());
  }

  /** @param {string} text */
  _receive(text) {
    this.received += 1;
    const event = JSON.parse(text);
    if (event.type === 'response.output_audio.delta') {
      this._play(event.response_id, event.delta);
      return;
    }
    if (event.type === 'conversation.item.truncated') this._drop();
    this._tell(text);
  }

  /** @param {string} response @param {string} delta */
  _play(response, delta) {
    if (this._isClosed) return;
    const samples = new Int16Array(Uint8Array.from(atob(delta), (each) => each.charCodeAt(0)).buffer);
    const buffer = this._audio.createBuffer(1, samples.length, RATE_HZ);
    buffer.copyToChannel(Float32Array.from(samples, (sample) => sample / 32_768), 0);
    const source = this._audio.createBufferSource();
    source.buffer = buffer;
    source.connect(this._voice);
    source.addEventListener('ended', () => {
      this._playing.delete(source);
      if (!this._playing.size) this._silent('stopped');
    });
    this._untilS = Math.max(this._untilS, this._audio.currentTime + LEAD_S);
    source.start(this._untilS);
    this._untilS += buffer.duration;
    this._playing.add(source);
    if (this._response === response) return;
    this._silent('stopped');
    this._response = response;
    this._tell(JSON.stringify({ type: 'output_audio_buffer.started', response_id: response }));
  }

  /** Play no more of what has come. */
  _drop() {
    const playing = [...this._playing];
    this._playing.clear();
    this._untilS = 0;
    playing.forEach((source) => source.stop());
    this._silent('cleared');
  }

  /** @param {'stopped' | 'cleared'} how */
  _silent(how) {
    if (!this._response) return;
    this._tell(JSON.stringify({ type: `output_audio_buffer.${how}`, response_id: this._response }));
    this._response = '';
  }

  /** @param {string} data */
  _tell(data) {
    this.dispatchEvent(new MessageEvent('message', { data }));
  }
}
