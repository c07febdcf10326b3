/**
 * The items of a call in their order, from its events, and the way back to one of them: what follows it leaves the conversation, and
 * the call goes on from there. What was said and done stays said and done; the agent only forgets it.
 */

/** @typedef {import('./protocol.js').ServerEvent} ServerEvent */
/** @typedef {(event: Record<string, unknown>) => boolean} Send */

const MAX_ITEMS = 256;
/** The server takes 100 events at once. */
const AT_ONCE = 40;
const ANSWER_MS = 5_000;

export class Conversation extends EventTarget {
  constructor() {
    super();
    /** @type {string[]} */
    this._order = [];
    /** @type {Set<string>} The responses that run. */
    this._running = new Set();
  }

  /** Another call begins. */
  begin() {
    this._order = [];
    this._running.clear();
  }

  /** @param {ServerEvent} event */
  take(event) {
    switch (event.type) {
      case 'conversation.item.added': this._add(event.item.id, event.previous_item_id ?? null); break;
      case 'conversation.item.deleted': this._order = this._order.filter((id) => id !== event.item_id); break;
      case 'response.created': this._running.add(event.response.id); break;
      case 'response.done': this._running.delete(event.response.id); break;
      default: return;
    }
    this.dispatchEvent(new Event('changed'));
  }

  /** An item and all that follow it; none when it is not known. @param {string} id @returns {string[]} */
  from(id) {
    const place = this._order.indexOf(id);
    return place < 0 ? [] : this._order.slice(place);
  }

  /**
   * Take an item and all that follow it out of the conversation. The agent is silent by then.
   * @param {string} id @param {Send} send
   * @returns {Promise<boolean>} false when the server did not do it in time
   */
  async goBackTo(id, send) {
    send({ type: 'output_audio_buffer.clear' });
    if (!(await this._until(() => !this._running.size))) return false;
    const gone = this.from(id).reverse();
    for (let at = 0; at < gone.length; at += AT_ONCE) {
      const some = gone.slice(at, at + AT_ONCE);
      some.forEach((item_id) => send({ type: 'conversation.item.delete', item_id }));
      if (!(await this._until(() => !some.some((item) => this._order.includes(item))))) return false;
    }
    return true;
  }

  /** @param {string} id @param {string | null} behind */
  _add(id, behind) {
    if (this._order.includes(id)) return;
    const place = behind === null ? -1 : this._order.indexOf(behind);
    this._order.splice(behind !== null && place < 0 ? this._order.length : place + 1, 0, id);
    if (this._order.length > MAX_ITEMS) this._order.shift();
  }

  /** @param {() => boolean} isSo @returns {Promise<boolean>} */
  _until(isSo) {
    return new Promise((resolve) => {
      if (isSo()) return resolve(true);
      const waiting = new AbortController();
      const timer = setTimeout(() => { waiting.abort(); resolve(false); }, ANSWER_MS);
      this.addEventListener('changed', () => {
        if (!isSo()) return;
        clearTimeout(timer);
        waiting.abort();
        resolve(true);
      }, { signal: waiting.signal });
      return undefined;
    });
  }
}
