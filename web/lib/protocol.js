/**
 * The events of the wire protocol that this page reads (OpenAI Realtime, and our `voiceagent.*` extras), as types.
 * There is nothing to run in this file but the event channel's name.
 */

export const EVENT_CHANNEL = 'oai-events';

/**
 * @typedef {{type: 'session.created', session: {voiceagent?: {agent: string, call_id: string, version: string, greeting?: boolean,
 *   recording?: boolean}}}} SessionCreated
 * @typedef {{type: 'input_audio_buffer.speech_started', item_id: string, audio_start_ms: number}} SpeechStarted
 * @typedef {{type: 'input_audio_buffer.speech_stopped', item_id: string, audio_end_ms: number}} SpeechStopped
 * @typedef {{type: 'conversation.item.input_audio_transcription.completed', item_id: string, transcript: string}} TranscriptionCompleted
 * @typedef {{type: 'conversation.item.added', item: Item, previous_item_id?: string | null}} ItemAdded
 * @typedef {{type: 'conversation.item.deleted', item_id: string}} ItemDeleted
 * @typedef {{type: 'response.output_text.delta', item_id: string, delta: string}} TextWritten
 * @typedef {{type: 'response.created', response: Reply}} ResponseCreated
 * @typedef {{type: 'response.done', response: Reply}} ResponseDone
 * @typedef {{type: 'response.output_item.added', response_id: string, item: Item}} OutputItemAdded
 * @typedef {{type: 'output_audio_buffer.started' | 'output_audio_buffer.stopped' | 'output_audio_buffer.cleared',
 *   response_id: string}} PlayoutChanged
 * @typedef {{type: 'error', error: {type: string, code: string, message: string}}} ErrorEvent
 * @typedef {{type: 'voiceagent.transcript.partial', item_id: string, stable: string, unstable: string}} PartialTranscript
 * @typedef {{type: 'voiceagent.not_understood', item_id: string, times: number,
 *   answer: 'phrase' | 'apology' | 'offer' | 'check_in' | 'nothing'}} NotUnderstood
 * @typedef {{type: 'voiceagent.heard', item_id: string, heard: string, unheard: string}} Heard
 * @typedef {{type: 'voiceagent.step', step: string}} StepEntered
 * @typedef {{type: 'voiceagent.degraded', degradations: string[]}} ServiceDegraded
 * @typedef {{type: 'voiceagent.handoff', agent: string, summary: boolean}} HandedOff
 * @typedef {{type: 'voiceagent.recording', recording: boolean}} RecordingChanged
 * @typedef {{type: 'voiceagent.value', name: string, stage: 'collecting' | 'heard' | 'confirmed' | 'given_up',
 *   value: string}} ValueChanged
 * @typedef {{type: 'voiceagent.tool', item_id: string, call_id: string, name: string, arguments: string,
 *   output: string | null, ok: boolean | null, status: 'running' | 'completed' | 'failed' | 'abandoned'}} ToolProgress
 * @typedef {{stage: string, start_ms: number, duration_ms: number, limit_ms: number | null, ok: boolean}} StageSpan
 * @typedef {{type: 'voiceagent.turn', turn: number, spans: StageSpan[], voice_to_voice_ms: number | null,
 *   voice_to_voice_limit_ms: number | null, barge_in_stop_ms: number | null, barge_in_stop_limit_ms: number | null,
 *   missed: string[], wait_ms: number | null, wait: WaitPart[], typed: boolean}} TurnMeasured
 * @typedef {{part: string, start_ms: number, duration_ms: number}} WaitPart
 * @typedef {{type: 'voiceagent.call_ended', reason: string}} CallEnded
 * @typedef {{type: 'voiceagent.resume', token: string, timeout_s: number}} ResumeOffered
 * @typedef {{type: 'voiceagent.replaced'}} ConnectionReplaced
 * @typedef {{type: 'voiceagent.draining', timeout_s: number}} ServerDrains
 *
 * @typedef {{agent: string, language: string, languages: string[], examples: string[], profile: string, description: string, models: {part: 'stt' | 'llm' | 'tts', name: string}[], limits: string[],
 *   steps: AgentSteps[], unfit: {problem: string, advice: string} | null}} About what `GET /v1/voiceagent/about` tells
 *
 * @typedef {{name: string, values: string[], next: string[], everywhere: boolean, handoff: number | null,
 *   passes: string[] | null}} Step
 * @typedef {{agent: string, steps: Step[]}} AgentSteps an agent's steps; in one with a `handoff` the agent of that place takes over,
 *   and gets the values of `passes`, or all
 *
 * @typedef {{id: string, status: string, output: Item[], output_modalities?: string[], status_details: {type: string, reason: string | null} | null}} Reply
 * @typedef {{id: string, type: string, role?: string, status?: string,
 *   content?: {type: string, text?: string, transcript?: string | null}[]}} Item
 *
 * @typedef {{event_id?: string} & (SessionCreated | SpeechStarted | SpeechStopped | TranscriptionCompleted | ItemAdded | ItemDeleted | TextWritten | ResponseCreated
 *   | ResponseDone | OutputItemAdded | PlayoutChanged | ErrorEvent | PartialTranscript | NotUnderstood | Heard | ToolProgress | StepEntered
 *   | ServiceDegraded | HandedOff | RecordingChanged | ValueChanged | TurnMeasured | CallEnded | ResumeOffered | ConnectionReplaced
 *   | ServerDrains)} ServerEvent
 */
