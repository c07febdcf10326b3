/** What went wrong in a call, in a person's words, from the server's `error` events. */

/** @type {Record<string, string>} */
const FAILURES = {
  llm_failed: 'The language model failed, so this was not answered. The server’s log says why.',
  reply_timeout: 'The language model did not answer in time.',
  empty_reply: 'The language model answered with nothing.',
  too_many_tools: 'The agent asked for tools again and again, and gave up.',
  tts_failed: 'The voice failed, so a part of the answer was not spoken.',
  stt_failed: 'The speech recogniser failed, so what you said was not understood.',
  nothing_to_answer: 'There is nothing to answer yet: say or type something first.',
  conversation_already_has_active_response: 'The agent is answering already. Stop it first, or wait until it has finished.',
  rate_limit_exceeded: 'That was too much at once. Wait a moment, then go on.',
};

/** The agent had stopped by itself as the person stopped it: nothing is wrong. */
const NO_FAILURE = new Set(['response_cancel_not_active']);

/** @param {{type: string, code: string, message: string}} error @returns {string} empty when there is nothing to tell */
export function failureText(error) {
  if (NO_FAILURE.has(error.code)) return '';
  return FAILURES[error.code] ?? `The server reports a problem: ${error.message}`;
}
