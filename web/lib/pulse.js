/**
 * Notices within two seconds that nothing comes from the server any more. Over WebRTC a server sends audio packets all the time, also
 * in silence (one in 400 ms); a browser's own ICE checks take five seconds and more. Over a WebSocket it says nothing in silence, so it
 * is asked then; TCP itself notices a cut network after minutes.
 */

const EVERY_MS = 200;
const QUIET_MS = 1_100;
const PROBE_MS = 700;
const ASK_AFTER_MS = 500;
const AGAIN_MS = 250;

/** @typedef {'fine' | 'quiet' | 'gone'} Pulsing `quiet`: nothing comes; `gone`: and nobody answers at the server's address */

export class Pulse {
  /**
   * @param {() => number | Promise<number>} received gives a number that changes whenever something has come
   * @param {string} url where the server is
   * @param {(now: Pulsing) => void} told called at every change
   */
  constructor(received, url, told) {
    this._received = received;
    this._url = url;
    this._told = told;
    this._bytes = -1;
    this._quietMs = 0;
    this._lastMs = performance.now();
    /** @type {Pulsing} */
    this._now = 'fine';
    this._timer = setInterval(() => this._read(), EVERY_MS);
  }

  stop() {
    clearInterval(this._timer);
    this._now = 'gone';
  }

  async _read() {
    const nowMs = performance.now();
    // A page that slept has missed packets and readings alike: a gap between readings proves no silence.
    const passedMs = Math.min(nowMs - this._lastMs, 3 * EVERY_MS);
    this._lastMs = nowMs;
    const bytes = await this._received();
    if (this._now === 'gone') return;
    if (bytes !== this._bytes) {
      this._bytes = bytes;
      this._quietMs = 0;
      this._change('fine');
      return;
    }
    this._quietMs += passedMs;
    if (this._quietMs < QUIET_MS || this._now !== 'fine') return;
    this._change('quiet');
    await this._ask();
  }

  /** Whether anybody is there at all. A phone that changes its network has no way to the server for a moment: it is asked twice. */
  async _ask() {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      if (!navigator.onLine || (await answers(this._url)) || this._now !== 'quiet') return;
      if (!attempt) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    if (this._now === 'quiet') this._change('gone');
  }

  /** @param {Pulsing} next */
  _change(next) {
    if (this._now === 'gone' || this._now === next) return;
    this._now = next;
    if (next === 'gone') clearInterval(this._timer);
    this._told(next);
  }
}

/** How many bytes have come over the connection. @param {RTCPeerConnection} peer */
export async function receivedBy(peer) {
  let bytes = 0;
  const stats = await peer.getStats();
  stats.forEach((part) => {
    if (part.type === 'candidate-pair' || part.type === 'transport') bytes += part.bytesReceived ?? 0;
    if (part.type === 'inbound-rtp') bytes += part.packetsReceived ?? 0;
  });
  return bytes;
}

/**
 * What has come over a WebSocket, or in answer to a question that is asked in a silence.
 * @param {{received: number}} socket counts what came @param {string} url
 * @returns {() => number}
 */
export function receivedOver(socket, url) {
  let [count, answered] = [socket.received, 0];
  let [silentSinceMs, asking] = [performance.now(), false];
  return () => {
    const nowMs = performance.now();
    if (socket.received !== count) [count, silentSinceMs] = [socket.received, nowMs];
    else if (!asking && nowMs - silentSinceMs >= ASK_AFTER_MS) {
      asking = true;
      isThere(url).then((is) => {
        asking = false;
        if (is) [answered, silentSinceMs] = [answered + 1, performance.now()];
      });
    }
    return count + answered;
  };
}

/** True when the server answers within a moment. @param {string} url */
async function isThere(url) {
  try {
    return (await fetch(`${url}/healthz`, { cache: 'no-store', mode: 'no-cors', signal: AbortSignal.timeout(PROBE_MS) })).status < 502;
  } catch {
    return false;
  }
}

/** False when nobody listens at the server's address, or a proxy says so. A server that is slow to answer is still there. @param {string} url */
async function answers(url) {
  try {
    const response = await fetch(`${url}/healthz`, { cache: 'no-store', mode: 'no-cors', signal: AbortSignal.timeout(PROBE_MS) });
    return ![502, 503, 504].includes(response.status);
  } catch (error) {
    return error instanceof DOMException && error.name === 'TimeoutError';
  }
}
