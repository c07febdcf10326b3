/** Levels of audio streams, from 0 (silence) to 1 (as loud as it gets), read whenever somebody asks. */

const FLOOR_DB = -60;
const CEILING_DB = -6;

/** @type {AudioContext | null} */
let shared = null;

/** One audio context for the page; made on the first call, because browsers want a click first. */
export function audioContext() {
  shared ??= new AudioContext();
  if (shared.state === 'suspended') shared.resume().catch(() => undefined);
  return shared;
}

export class Meter {
  /** @param {MediaStream} stream */
  constructor(stream) {
    const context = audioContext();
    this._source = context.createMediaStreamSource(stream);
    this._analyser = context.createAnalyser();
    this._analyser.fftSize = 1024;
    this._source.connect(this._analyser);
    this._samples = new Float32Array(this._analyser.fftSize);
  }

  /** The level of the last 20 ms or so, on a scale of decibels. */
  read() {
    this._analyser.getFloatTimeDomainData(this._samples);
    let power = 0;
    for (const sample of this._samples) power += sample * sample;
    const decibels = 10 * Math.log10(power / this._samples.length + 1e-12);
    return Math.min(1, Math.max(0, (decibels - FLOOR_DB) / (CEILING_DB - FLOOR_DB)));
  }

  close() {
    this._source.disconnect();
    this._analyser.disconnect();
  }
}
