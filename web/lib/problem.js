/**
 * What can go wrong with a call, as one error type with a code. The page turns codes into sentences; other clients may do
 * as they like.
 */

/**
 * @typedef {'insecure_context' | 'not_supported' | 'microphone_refused' | 'microphone_missing' | 'microphone_busy'
 *   | 'server_unreachable' | 'server_full' | 'memory_full' | 'server_stopping' | 'not_ready' | 'missing_api_key'
 *   | 'invalid_api_key' | 'too_many_wrong_keys' | 'origin_not_allowed' | 'offer_refused' | 'connect_timeout'
 *   | 'cancelled'} ProblemCode
 */

/** A call that could not be made. `message` is one line from the browser or the server. */
export class CallProblem extends Error {
  /**
   * @param {ProblemCode} code
   * @param {string} message
   * @param {{retryAfterS?: number, status?: number}} [more] `retryAfterS`: when the server says after how many seconds to try again;
   *   `status`: the HTTP status that the server answered with
   */
  constructor(code, message, { retryAfterS, status = 0 } = {}) {
    super(message);
    this.name = 'CallProblem';
    this.code = code;
    this.retryAfterS = retryAfterS;
    this.status = status;
  }
}

/** Codes of the server's error body that are told apart; others become `offer_refused`. */
const SERVER_CODES = new Set([
  'server_full', 'memory_full', 'server_stopping', 'not_ready', 'invalid_api_key', 'too_many_wrong_keys', 'origin_not_allowed',
]);

/**
 * The problem in an error answer of the server: `{error: {message, code, …}}`.
 * @param {Response} response
 * @param {boolean} keySent whether the request carried a key
 * @returns {Promise<CallProblem>}
 */
export async function problemFrom(response, keySent) {
  let message = `The server answered ${response.status}.`;
  let code = '';
  try {
    const body = await response.json();
    message = String(body.error?.message ?? message);
    code = String(body.error?.code ?? '');
  } catch {
    // Not our error body (a proxy's page, perhaps): the status has to do.
  }
  if (!SERVER_CODES.has(code)) {
    code = response.status === 401 ? 'invalid_api_key' : 'offer_refused';
  }
  if (code === 'invalid_api_key' && !keySent) code = 'missing_api_key';
  const seconds = Number(response.headers.get('Retry-After'));
  return new CallProblem(/** @type {ProblemCode} */ (code), message, { status: response.status, ...(seconds > 0 ? { retryAfterS: seconds } : {}) });
}

/**
 * The problem behind a failed `getUserMedia`.
 * @param {unknown} error
 * @returns {CallProblem}
 */
export function microphoneProblem(error) {
  const name = error instanceof DOMException ? error.name : '';
  const message = error instanceof Error ? error.message : String(error);
  if (name === 'NotAllowedError' || name === 'SecurityError') return new CallProblem('microphone_refused', message);
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return new CallProblem('microphone_missing', message);
  return new CallProblem('microphone_busy', message);
}
