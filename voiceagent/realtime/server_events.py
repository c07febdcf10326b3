"""Events of the server for a client: the subset of the OpenAI Realtime server events that a spoken call needs, and the
`voiceagent.*` extras. Each struct becomes one JSON object on the event channel; `event_id` is added when it is sent. Names and
fields follow the protocol's published schema; the tests compare them with the official SDK's types."""

from __future__ import annotations

from typing import Literal

import msgspec

from voiceagent.realtime.items import Item


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all server events."""


class SessionCreated(ServerEvent, frozen=True, kw_only=True, tag="session.created"):
    """The first event of a call."""

    session: dict[str, object]


class SessionUpdated(ServerEvent, frozen=True, kw_only=True, tag="session.updated"):
    """Answers `session.update` with the current session."""

    session: dict[str, object]


class SpeechStarted(ServerEvent, frozen=True, kw_only=True, tag="input_audio_buffer.speech_started"):
    """The caller began to speak."""

    item_id: str
    audio_start_ms: int


class SpeechStopped(ServerEvent, frozen=True, kw_only=True, tag="input_audio_buffer.speech_stopped"):
    """The caller finished."""

    item_id: str
    audio_end_ms: int


class AudioCommitted(ServerEvent, frozen=True, kw_only=True, tag="input_audio_buffer.committed"):
    """The utterance became a conversation item."""

    item_id: str
    previous_item_id: str | None


class ItemAdded(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.added"):
    """An item joined the conversation."""

    item: Item
    previous_item_id: str | None


class ItemDone(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.done"):
    """An item is complete."""

    item: Item
    previous_item_id: str | None


class ItemRetrieved(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.retrieved"):
    """Answers `conversation.item.retrieve`."""

    item: Item


class ItemTruncated(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.truncated"):
    """The agent's message was cut at what was heard."""

    item_id: str
    audio_end_ms: int
    content_index: int = 0


class TranscriptionDelta(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.delta"):
    """More of the caller's final text."""

    item_id: str
    delta: str
    content_index: int = 0


class TranscriptionDuration(msgspec.Struct, frozen=True, tag="duration"):
    """The length of the transcribed audio."""

    seconds: float


class TranscriptionCompleted(ServerEvent, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.completed"):
    """The caller's final text; empty when no words were found."""

    item_id: str
    transcript: str
    usage: TranscriptionDuration
    content_index: int = 0


class ResponseStatusDetails(msgspec.Struct, frozen=True):
    """The reason why a response did not complete."""

    type: Literal["cancelled", "failed"]
    reason: Literal["turn_detected", "client_cancelled"] | None = None
    error: dict[str, str] | None = None


class Response(msgspec.Struct, frozen=True):
    """A reply, as the protocol writes it."""

    id: str
    status: Literal["in_progress", "completed", "cancelled", "failed"]
    output: tuple[Item, ...] = ()
    status_details: ResponseStatusDetails | None = None
    conversation_id: str | None = None
    output_modalities: tuple[str, ...] = ("audio",)
    object: str = "realtime.response"
    usage: None = None
    metadata: None = None


class ResponseCreated(ServerEvent, frozen=True, kw_only=True, tag="response.created"):
    """A reply began."""

    response: Response


class ResponseDone(ServerEvent, frozen=True, kw_only=True, tag="response.done"):
    """A reply is over; sent exactly once for each `response.created`."""

    response: Response


class OutputItemAdded(ServerEvent, frozen=True, kw_only=True, tag="response.output_item.added"):
    """A message or a tool call joined the reply."""

    response_id: str
    output_index: int
    item: Item


class OutputItemDone(ServerEvent, frozen=True, kw_only=True, tag="response.output_item.done"):
    """A message or a tool call of the reply is complete."""

    response_id: str
    output_index: int
    item: Item


class AudioPart(msgspec.Struct, frozen=True, tag="audio"):
    """The spoken content of a message."""

    transcript: str


class InsideMessage(ServerEvent, frozen=True, kw_only=True):
    """Base of the events about the spoken content of a reply's message."""

    response_id: str
    item_id: str
    output_index: int
    content_index: int = 0


class ContentPartAdded(InsideMessage, frozen=True, kw_only=True, tag="response.content_part.added"):
    """The message's spoken content begins."""

    part: AudioPart


class ContentPartDone(InsideMessage, frozen=True, kw_only=True, tag="response.content_part.done"):
    """The message's spoken content is complete."""

    part: AudioPart


class TranscriptDelta(InsideMessage, frozen=True, kw_only=True, tag="response.output_audio_transcript.delta"):
    """A clause that is about to be spoken."""

    delta: str


class TranscriptDone(InsideMessage, frozen=True, kw_only=True, tag="response.output_audio_transcript.done"):
    """The whole text of the message."""

    transcript: str


class OutputAudioDone(InsideMessage, frozen=True, kw_only=True, tag="response.output_audio.done"):
    """No more audio comes for the message."""


class InsideToolCall(ServerEvent, frozen=True, kw_only=True):
    """Base of the events about a tool call of a reply."""

    item_id: str
    output_index: int


class ToolArgumentsDelta(InsideToolCall, frozen=True, kw_only=True, tag="response.mcp_call_arguments.delta"):
    """The arguments; they come in one piece."""

    response_id: str
    delta: str


class ToolArgumentsDone(InsideToolCall, frozen=True, kw_only=True, tag="response.mcp_call_arguments.done"):
    """The arguments, complete."""

    response_id: str
    arguments: str


class ToolInProgress(InsideToolCall, frozen=True, kw_only=True, tag="response.mcp_call.in_progress"):
    """The tool runs."""


class ToolCompleted(InsideToolCall, frozen=True, kw_only=True, tag="response.mcp_call.completed"):
    """The tool ended well."""


class ToolFailed(InsideToolCall, frozen=True, kw_only=True, tag="response.mcp_call.failed"):
    """The tool failed, or the reply ended before it did."""


class FunctionArgumentsDelta(InsideToolCall, frozen=True, kw_only=True, tag="response.function_call_arguments.delta"):
    """The arguments for a tool of the client; they come in one piece."""

    response_id: str
    call_id: str
    delta: str


class FunctionArgumentsDone(InsideToolCall, frozen=True, kw_only=True, tag="response.function_call_arguments.done"):
    """The arguments, complete."""

    response_id: str
    call_id: str
    name: str
    arguments: str


class PlayoutStarted(ServerEvent, frozen=True, kw_only=True, tag="output_audio_buffer.started"):
    """Audio of the reply is being sent."""

    response_id: str


class PlayoutFinished(ServerEvent, frozen=True, kw_only=True, tag="output_audio_buffer.stopped"):
    """All audio of the reply was sent."""

    response_id: str


class PlayoutCleared(ServerEvent, frozen=True, kw_only=True, tag="output_audio_buffer.cleared"):
    """The rest of the reply's audio was thrown away."""

    response_id: str


class ErrorDetails(msgspec.Struct, frozen=True):
    """The error, in one line."""

    type: Literal["invalid_request_error", "server_error"]
    code: str
    message: str
    param: str | None = None
    event_id: str | None = None
    """The client event that caused it, if one did."""


class ErrorEvent(ServerEvent, frozen=True, kw_only=True, tag="error"):
    """Something went wrong; the call goes on."""

    error: ErrorDetails


class PartialTranscript(ServerEvent, frozen=True, kw_only=True, tag="voiceagent.transcript.partial"):
    """The open utterance so far: `stable` will not change, `unstable` may."""

    item_id: str
    stable: str
    unstable: str


class NotUnderstood(ServerEvent, frozen=True, kw_only=True, tag="voiceagent.not_understood"):
    """The caller's utterance sounds like a turn, and no word of it was understood. `times`: how many such turns have come in a
    row. `answer`: what the agent says, as in `actions.NotUnderstood`."""

    item_id: str
    times: int
    answer: Literal["phrase", "apology", "offer", "check_in", "nothing"]


class Heard(ServerEvent, frozen=True, kw_only=True, tag="voiceagent.heard"):
    """All that the caller has heard of the message, to the word; `unheard` when the reply was cut and there was more."""

    item_id: str
    heard: str
    unheard: str = ""


class ToolProgress(ServerEvent, frozen=True, kw_only=True, tag="voiceagent.tool"):
    """A tool that runs, at the server or at the client. `status`: running, completed, failed, or abandoned when its reply ended
    first."""

    item_id: str
    call_id: str
    name: str
    arguments: str
    output: str | None
    ok: bool | None
    status: Literal["running", "completed", "failed", "abandoned"]


class CallEnded(ServerEvent, frozen=True, kw_only=True, tag="voiceagent.call_ended"):
    """The last event of a call."""

    reason: str
