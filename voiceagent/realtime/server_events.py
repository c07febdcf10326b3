"""Events of the server for a client, without their names on the wire. A dialect names and writes them; fields are written under
their own names. The id of an event is added when it is sent."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from voiceagent.conversation.actions import ValueStage
from voiceagent.json_types import JsonObject
from voiceagent.realtime.items import Item


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all server events."""

    has_id: ClassVar[bool] = True


class SessionCreated(ServerEvent, frozen=True, kw_only=True):
    """The first event of a call."""

    session: dict[str, object]


class SessionUpdated(ServerEvent, frozen=True, kw_only=True):
    """Answers `session.update` with the current session."""

    session: dict[str, object]


class SpeechStarted(ServerEvent, frozen=True, kw_only=True):
    """The caller began to speak."""

    item_id: str
    audio_start_ms: int


class SpeechStopped(ServerEvent, frozen=True, kw_only=True):
    """The caller finished."""

    item_id: str
    audio_end_ms: int


class KeyReceived(ServerEvent, frozen=True, kw_only=True):
    """The caller pressed a key of their telephone. `received_at` is in seconds since 1970."""

    has_id: ClassVar[bool] = False
    event: str
    received_at: int


class AudioCommitted(ServerEvent, frozen=True, kw_only=True):
    """The utterance became a conversation item."""

    item_id: str
    previous_item_id: str | None


class ItemAdded(ServerEvent, frozen=True, kw_only=True):
    """An item joined the conversation."""

    item: Item
    previous_item_id: str | None


class ItemDone(ServerEvent, frozen=True, kw_only=True):
    """An item is complete."""

    item: Item
    previous_item_id: str | None


class ItemRetrieved(ServerEvent, frozen=True, kw_only=True):
    """Answers `conversation.item.retrieve`."""

    item: Item


class ItemTruncated(ServerEvent, frozen=True, kw_only=True):
    """The agent's message was cut at what was heard."""

    item_id: str
    audio_end_ms: int
    content_index: int = 0


class ItemDeleted(ServerEvent, frozen=True, kw_only=True):
    """The item is no longer part of the conversation."""

    item_id: str


class AudioCleared(ServerEvent, frozen=True, kw_only=True):
    """The open utterance was forgotten."""


class IdleTimeout(ServerEvent, frozen=True, kw_only=True):
    """The caller said nothing for the session's idle time: the agent speaks again."""

    item_id: str
    audio_start_ms: int
    audio_end_ms: int


class RateLimit(msgspec.Struct, frozen=True):
    """A limit of the client, and what is left of it."""

    name: Literal["requests", "tokens"]
    limit: int
    remaining: int
    reset_seconds: float


class RateLimitsUpdated(ServerEvent, frozen=True, kw_only=True):
    """The limits at the beginning of a response."""

    rate_limits: tuple[RateLimit, ...]


class TranscriptionDelta(ServerEvent, frozen=True, kw_only=True):
    """More of the caller's final text."""

    item_id: str
    delta: str
    content_index: int = 0


class TranscriptionDuration(msgspec.Struct, frozen=True):
    """The length of the transcribed audio."""

    seconds: float


class TranscriptionCompleted(ServerEvent, frozen=True, kw_only=True):
    """The caller's final text; empty when no words were found."""

    item_id: str
    transcript: str
    usage: TranscriptionDuration
    content_index: int = 0


class TokenDetails(msgspec.Struct, frozen=True):
    """The kinds of tokens. Speech is counted by its text."""

    text_tokens: int
    audio_tokens: int = 0


class PromptDetails(TokenDetails, frozen=True):
    """The kinds of tokens of the prompts."""

    cached_tokens: int | None = None
    """Those that were not read again. None: it is not known."""


class ResponseUsage(msgspec.Struct, frozen=True):
    """The tokens of a response: an estimate, where the language model's engine has not counted them."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: PromptDetails
    output_token_details: TokenDetails


class ResponseStatusDetails(msgspec.Struct, frozen=True):
    """The reason why a response did not complete."""

    type: Literal["cancelled", "failed", "incomplete"]
    reason: Literal["turn_detected", "client_cancelled", "max_output_tokens"] | None = None
    error: dict[str, str] | None = None


class Response(msgspec.Struct, frozen=True):
    """A reply, as the protocol writes it."""

    id: str
    status: Literal["in_progress", "completed", "cancelled", "failed", "incomplete"]
    output: tuple[Item, ...] = ()
    status_details: ResponseStatusDetails | None = None
    conversation_id: str | None = None
    output_modalities: tuple[str, ...] = ("audio",)
    object: str = "realtime.response"
    usage: ResponseUsage | None = None
    metadata: JsonObject | None = None
    max_output_tokens: int | str = "inf"


class ResponseCreated(ServerEvent, frozen=True, kw_only=True):
    """A reply began."""

    response: Response


class ResponseDone(ServerEvent, frozen=True, kw_only=True):
    """A reply is over; sent exactly once for each `response.created`."""

    response: Response


class OutputItemAdded(ServerEvent, frozen=True, kw_only=True):
    """A message or a tool call joined the reply."""

    response_id: str
    output_index: int
    item: Item


class OutputItemDone(ServerEvent, frozen=True, kw_only=True):
    """A message or a tool call of the reply is complete."""

    response_id: str
    output_index: int
    item: Item


class AudioPart(msgspec.Struct, frozen=True):
    """The spoken content of a message."""

    transcript: str


class TextPart(msgspec.Struct, frozen=True):
    """The written content of a message."""

    text: str


class InsideMessage(ServerEvent, frozen=True, kw_only=True):
    """Base of the events about the content of a reply's message."""

    response_id: str
    item_id: str
    output_index: int
    content_index: int = 0


class ContentPartAdded(InsideMessage, frozen=True, kw_only=True):
    """The message's spoken content begins."""

    part: AudioPart | TextPart


class ContentPartDone(InsideMessage, frozen=True, kw_only=True):
    """The message's spoken content is complete."""

    part: AudioPart | TextPart


class TranscriptDelta(InsideMessage, frozen=True, kw_only=True):
    """A clause that is about to be spoken."""

    delta: str


class TranscriptDone(InsideMessage, frozen=True, kw_only=True):
    """The whole text of the message."""

    transcript: str


class WrittenDelta(InsideMessage, frozen=True, kw_only=True):
    """A clause of a reply that is written."""

    delta: str


class WrittenDone(InsideMessage, frozen=True, kw_only=True):
    """The whole text of a written message."""

    text: str


class OutputAudioDelta(InsideMessage, frozen=True, kw_only=True):
    """More audio of the message, in base64."""

    delta: str


class OutputAudioDone(InsideMessage, frozen=True, kw_only=True):
    """No more audio comes for the message."""


class InsideToolCall(ServerEvent, frozen=True, kw_only=True):
    """Base of the events about a tool call of a reply."""

    item_id: str
    output_index: int


class ToolArgumentsDelta(InsideToolCall, frozen=True, kw_only=True):
    """The arguments; they come in one piece."""

    response_id: str
    delta: str


class ToolArgumentsDone(InsideToolCall, frozen=True, kw_only=True):
    """The arguments, complete."""

    response_id: str
    arguments: str


class ToolCompleted(InsideToolCall, frozen=True, kw_only=True):
    """The tool ended well."""


class ToolFailed(InsideToolCall, frozen=True, kw_only=True):
    """The tool failed, or the reply ended before it did."""


class ToolsListing(ServerEvent, frozen=True, kw_only=True):
    """The tools of a client's MCP server are being read."""

    item_id: str


class ToolsListed(ServerEvent, frozen=True, kw_only=True):
    """They were read."""

    item_id: str


class ToolsUnlisted(ServerEvent, frozen=True, kw_only=True):
    """They cannot be read."""

    item_id: str


class FunctionArgumentsDelta(InsideToolCall, frozen=True, kw_only=True):
    """The arguments for a tool of the client; they come in one piece."""

    response_id: str
    call_id: str
    delta: str


class FunctionArgumentsDone(InsideToolCall, frozen=True, kw_only=True):
    """The arguments, complete."""

    response_id: str
    call_id: str
    name: str
    arguments: str


class PlayoutStarted(ServerEvent, frozen=True, kw_only=True):
    """Audio of the reply is being sent."""

    response_id: str


class PlayoutFinished(ServerEvent, frozen=True, kw_only=True):
    """All audio of the reply was sent."""

    response_id: str


class PlayoutCleared(ServerEvent, frozen=True, kw_only=True):
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


class ErrorEvent(ServerEvent, frozen=True, kw_only=True):
    """Something went wrong; the call goes on."""

    error: ErrorDetails


class PartialTranscript(ServerEvent, frozen=True, kw_only=True):
    """The open utterance so far: `stable` will not change, `unstable` may."""

    item_id: str
    stable: str
    unstable: str


class NotUnderstood(ServerEvent, frozen=True, kw_only=True):
    """The caller's utterance sounds like a turn, and no word of it was understood. `times`: how many such turns have come in a
    row. `answer`: what the agent says, as in `actions.NotUnderstood`."""

    item_id: str
    times: int
    answer: Literal["phrase", "apology", "offer", "check_in", "nothing"]


class Heard(ServerEvent, frozen=True, kw_only=True):
    """All that the caller has heard of the message, to the word; `unheard` when the reply was cut and there was more."""

    item_id: str
    heard: str
    unheard: str = ""


class StepEntered(ServerEvent, frozen=True, kw_only=True):
    """The call is in another step of the agent's graph."""

    step: str


class ServiceDegraded(ServerEvent, frozen=True, kw_only=True):
    """The call goes without these from now on, to keep the latency budgets."""

    degradations: tuple[str, ...]


class ValueChanged(ServerEvent, frozen=True, kw_only=True):
    """A value that the agent collects has reached a stage."""

    name: str
    stage: ValueStage
    value: str
    """Empty: none is known."""


class HandedOff(ServerEvent, frozen=True, kw_only=True):
    """Another agent goes on with the call; `summary` is true if it reads a summary of what was said."""

    agent: str
    summary: bool


class RecordingChanged(ServerEvent, frozen=True, kw_only=True):
    """The call is recorded from now on, or no more."""

    recording: bool


class ToolProgress(ServerEvent, frozen=True, kw_only=True):
    """A tool that runs, at the server or at the client. `status`: running, completed, failed, or abandoned when its reply ended
    first."""

    item_id: str
    call_id: str
    name: str
    arguments: str
    output: str | None
    ok: bool | None
    status: Literal["running", "completed", "failed", "abandoned"]


class ResumeOffered(ServerEvent, frozen=True, kw_only=True):
    """The token with which the client takes its call up again if its connection is lost, and how long the call waits then."""

    token: str
    timeout_s: float


class ConnectionReplaced(ServerEvent, frozen=True, kw_only=True):
    """The call was resumed by another connection. This one is about to be closed."""


class ServerDrains(ServerEvent, frozen=True, kw_only=True):
    """The server takes no new calls, and is about to end. This call is ended if it lasts longer than this."""

    timeout_s: float


class CallEnded(ServerEvent, frozen=True, kw_only=True):
    """The last event of a call."""

    reason: str
