/** What the agent is doing right now, from the server's events: one word and one line for the status. */

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */
/** @typedef {'idle' | 'asking' | 'connecting' | 'unstable' | 'resuming' | 'listening' | 'hearing' | 'thinking' | 'speaking'} CallStatus */

/** @type {Record<CallStatus, string>} */
export const STATUS_TEXT = {
  idle: 'Not in a call',
  asking: 'Waiting for the microphone',
  connecting: 'Calling …',
  unstable: 'No answer from the server …',
  resuming: 'Taking the call up again …',
  listening: 'Listening',
  hearing: 'Hearing you',
  thinking: 'Thinking',
  speaking: 'Speaking',
};

/**
 * The status after an event; the same when the event says nothing about it.
 * @param {CallStatus} status @param {ServerEvent} event
 * @returns {CallStatus}
 */
export function after(status, event) {
  switch (event.type) {
    case 'session.created': return 'listening';
    case 'input_audio_buffer.speech_started': return 'hearing';
    case 'input_audio_buffer.speech_stopped': return 'thinking';
    case 'conversation.item.input_audio_transcription.completed':
      return status === 'thinking' && !event.transcript.trim() ? 'listening' : status;
    case 'response.created': return status === 'hearing' ? status : 'thinking';
    case 'output_audio_buffer.started': return 'speaking';
    case 'voiceagent.heard': return status === 'hearing' || event.unheard ? status : 'speaking'; // also after an "mm-hm"
    case 'output_audio_buffer.stopped': return status === 'speaking' ? 'listening' : status;
    case 'output_audio_buffer.cleared': return status === 'speaking' ? 'listening' : status;
    case 'response.done':
      return status === 'thinking' && event.response.status !== 'completed' ? 'listening' : status;
    default: return status;
  }
}
