/** What the agent is doing right now, from the server's events: one word and one line for the status. */

/** @typedef {import('./lib/protocol.js').ServerEvent} ServerEvent */
/** @typedef {'idle' | 'asking' | 'connecting' | 'wavering' | 'listening' | 'hearing' | 'thinking' | 'speaking'} Mood */

/** @type {Record<Mood, string>} */
export const LINES = {
  idle: 'Not in a call',
  asking: 'Waiting for the microphone',
  connecting: 'Calling …',
  wavering: 'Connection is poor …',
  listening: 'Listening',
  hearing: 'Hearing you',
  thinking: 'Thinking',
  speaking: 'Speaking',
};

/**
 * The mood after an event; the same when the event says nothing about it.
 * @param {Mood} mood @param {ServerEvent} event
 * @returns {Mood}
 */
export function after(mood, event) {
  switch (event.type) {
    case 'session.created': return 'listening';
    case 'input_audio_buffer.speech_started': return 'hearing';
    case 'input_audio_buffer.speech_stopped': return 'thinking';
    case 'conversation.item.input_audio_transcription.completed':
      return mood === 'thinking' && !event.transcript.trim() ? 'listening' : mood;
    case 'response.created': return mood === 'hearing' ? mood : 'thinking';
    case 'output_audio_buffer.started': return 'speaking';
    case 'voiceagent.heard': return mood === 'hearing' || event.unheard ? mood : 'speaking'; // also after an "mm-hm"
    case 'output_audio_buffer.stopped': return mood === 'speaking' ? 'listening' : mood;
    case 'output_audio_buffer.cleared': return mood === 'speaking' ? 'listening' : mood;
    case 'response.done':
      return mood === 'thinking' && event.response.status !== 'completed' ? 'listening' : mood;
    default: return mood;
  }
}
