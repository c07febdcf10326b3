/** An audio worklet: what a microphone hears as pieces of 40 ms, 16-bit mono at 24 kHz. */

const RATE_HZ = 24_000;
const PIECE_SAMPLES = RATE_HZ / 25;

/** As many samples as Web Audio gives at a time. */
const SILENCE = new Float32Array(128);

const scope = /** @type {any} */ (globalThis);

class Capture extends scope.AudioWorkletProcessor {
  constructor() {
    super();
    this._step = RATE_HZ / scope.sampleRate;
    this._part = 0;
    this._sum = 0;
    this._count = 0;
    this._piece = new Int16Array(PIECE_SAMPLES);
    this._filled = 0;
  }

  /**
   * A silent microphone may give no samples at all (in Firefox). The server waits for silence to know that the caller has finished.
   * @param {Float32Array[][]} inputs
   */
  process([input]) {
    for (const sample of input[0] ?? SILENCE) this._take(sample);
    return true;
  }

  /** Each sample at 24 kHz is the mean of those of the microphone that fall into it. @param {number} sample */
  _take(sample) {
    this._sum += sample;
    this._count += 1;
    this._part += this._step;
    for (; this._part >= 1; this._part -= 1) {
      const mean = this._sum / Math.max(1, this._count);
      if (this._part < 2) this._sum = this._count = 0;
      this._piece[this._filled] = Math.max(-32_768, Math.min(32_767, Math.round(mean * 32_767)));
      this._filled += 1;
      if (this._filled < PIECE_SAMPLES) continue;
      this.port.postMessage(this._piece);
      this._filled = 0;
    }
  }
}

scope.registerProcessor('capture', Capture);
