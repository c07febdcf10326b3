/** The figures of a call across its turns: what the caller waited for, how often that was over budget, how often they interrupted. */

/** @typedef {import('./lib/protocol.js').TurnMeasured} TurnMeasured */

/**
 * @typedef {{turns: number, waits: number[], p50: number | null, p95: number | null, longest: number | null, over: number,
 *   interruptions: number, limit: number | null}} Figures `waits` in milliseconds, of those turns whose reply had a sound
 */

/** @param {readonly TurnMeasured[]} turns @returns {Figures} */
export function figuresOf(turns) {
  const waits = turns.map((turn) => turn.wait_ms).filter((wait) => wait !== null);
  return {
    turns: turns.length,
    waits,
    p50: percentile(waits, 50),
    p95: percentile(waits, 95),
    longest: percentile(waits, 100),
    over: turns.filter((turn) => turn.missed.length > 0).length,
    interruptions: turns.filter((turn) => turn.barge_in_stop_ms !== null).length,
    limit: turns.map((turn) => turn.voice_to_voice_limit_ms).filter((limit) => limit !== null).at(-1) ?? null,
  };
}

/**
 * A percentile by nearest rank: a value that was measured, never one between two.
 * @param {readonly number[]} values @param {number} share in percent
 */
export function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil((share / 100) * sorted.length) - 1)] ?? null;
}
