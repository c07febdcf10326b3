/** What the agent is doing right now, from the server's events: the words for it are `words.status`. */

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */
/** @typedef {'idle' | 'asking' | 'connecting' | 'unstable' | 'resuming' | 'listening' | 'hearing' | 'thinking' | 'speaking'} CallStatus */

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
      if (isWritten(event.response)) return status === 'hearing' ? status : 'listening';
      return status === 'thinking' && event.response.status !== 'completed' ? 'listening' : status;
    default: return status;
  }
}

/** True for an answer in writing, after which no sound comes. @param {import('./lib/protocol.js').Reply} reply */
function isWritten(reply) {
  return reply.output_modalities?.[0] === 'text';
}
