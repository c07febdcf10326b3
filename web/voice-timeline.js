/**
 * The last seconds of the call as two voices on one line, the agent's above it, the caller's below. An
 * interruption shows as one voice ending where the other begins.
 */

const SECONDS = 12;
export const STEP_MS = 50;
const BARS = (SECONDS * 1000) / STEP_MS;

export class VoiceTimeline {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this._canvas = canvas;
    /** @type {{agent: number, caller: number}[]} */
    this._levels = [];
    this._lastMs = 0;
    this._still = matchMedia('(prefers-reduced-motion: reduce)');
    this._dark = matchMedia('(prefers-color-scheme: dark)');
    this._dark.addEventListener('change', () => this._readColours());
    this._readColours();
  }

  clear() {
    this._levels = [];
    this._draw();
  }

  /** Show the levels (0…1) of now. @param {number} agent @param {number} caller @param {number} nowMs */
  add(agent, caller, nowMs) {
    if (nowMs - this._lastMs < STEP_MS - 1) return;
    this._lastMs = nowMs;
    this._levels.push({ agent, caller });
    if (this._levels.length > BARS) this._levels.shift();
    this._draw();
  }

  _readColours() {
    const style = getComputedStyle(document.documentElement);
    this._agent = style.getPropertyValue('--agent');
    this._caller = style.getPropertyValue('--caller');
    this._rule = style.getPropertyValue('--rule');
  }

  _draw() {
    const canvas = this._canvas;
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0) return;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext('2d');
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const middle = height / 2;
    pen.fillStyle = this._rule ?? '';
    pen.fillRect(0, middle - 0.5, width, 1);
    if (this._still.matches) this._drawStill(pen, width, middle);
    else this._drawMoving(pen, width, middle);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} width @param {number} middle */
  _drawMoving(pen, width, middle) {
    const step = width / BARS;
    const bar = Math.max(1, step * 0.6);
    const first = BARS - this._levels.length;
    this._levels.forEach(({ agent, caller }, index) => {
      const x = (first + index) * step;
      pen.fillStyle = this._agent ?? '';
      pen.fillRect(x, middle - 1.5 - agent * (middle - 5), bar, agent * (middle - 5));
      pen.fillStyle = this._caller ?? '';
      pen.fillRect(x, middle + 1.5, bar, caller * (middle - 5));
    });
  }

  /** Without motion: two bars that grow, nothing that scrolls. @param {CanvasRenderingContext2D} pen @param {number} width @param {number} middle */
  _drawStill(pen, width, middle) {
    const now = this._levels.at(-1) ?? { agent: 0, caller: 0 };
    pen.fillStyle = this._agent ?? '';
    pen.fillRect(0, middle - 8, width * now.agent, 6);
    pen.fillStyle = this._caller ?? '';
    pen.fillRect(0, middle + 2, width * now.caller, 6);
  }
}
