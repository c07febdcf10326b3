"""OpenAI's Realtime API as a dialect: the names of its events, items and parts, and how its client events and responses are read.
Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.realtime import client_events as client
from voiceagent.realtime import items, server_events, turn
from voiceagent.realtime.client_events import ClientEvent
from voiceagent.realtime.dialect import MAX_AUDIO_EVENT_CHARACTERS, Dialect
from voiceagent.realtime.openai_fields import Field, integer, one_of, optional, read_fields, text
from voiceagent.realtime.openai_items import MAX_ID_CHARACTERS, read_input, read_item
from voiceagent.realtime.openai_session import (
    FORMAT,
    INSTRUCTIONS,
    MODALITIES,
    MOST_TOKENS,
    PARALLEL,
    PROMPT,
    REASONING,
    RESPONSE_TOOLS,
    TOOL_CHOICE,
    VOICE,
    check_forced,
    check_size,
    read_session,
    write_session,
)
from voiceagent.realtime.response_settings import ResponseSettings
from voiceagent.realtime.settings import ClientSettings, SessionFacts, invalid

CLIENT_EVENTS: Mapping[str, type[ClientEvent]] = {
    "session.update": client.SessionUpdate,
    "conversation.item.create": client.ItemCreate,
    "conversation.item.retrieve": client.ItemRetrieve,
    "conversation.item.delete": client.ItemDelete,
    "conversation.item.truncate": client.ItemTruncate,
    "response.create": client.ResponseCreate,
    "response.cancel": client.ResponseCancel,
    "input_audio_buffer.append": client.AudioAppend,
    "input_audio_buffer.commit": client.AudioCommit,
    "input_audio_buffer.clear": client.AudioClear,
    "output_audio_buffer.clear": client.PlayoutClear,
}

SERVER_EVENTS: Mapping[type[server_events.ServerEvent], str] = {
    server_events.SessionCreated: "session.created",
    server_events.SessionUpdated: "session.updated",
    server_events.SpeechStarted: "input_audio_buffer.speech_started",
    server_events.SpeechStopped: "input_audio_buffer.speech_stopped",
    server_events.AudioCommitted: "input_audio_buffer.committed",
    server_events.AudioCleared: "input_audio_buffer.cleared",
    server_events.KeyReceived: "input_audio_buffer.dtmf_event_received",
    server_events.IdleTimeout: "input_audio_buffer.timeout_triggered",
    server_events.ItemAdded: "conversation.item.added",
    server_events.ItemDone: "conversation.item.done",
    server_events.ItemRetrieved: "conversation.item.retrieved",
    server_events.ItemTruncated: "conversation.item.truncated",
    server_events.ItemDeleted: "conversation.item.deleted",
    server_events.TranscriptionDelta: "conversation.item.input_audio_transcription.delta",
    server_events.TranscriptionCompleted: "conversation.item.input_audio_transcription.completed",
    server_events.ResponseCreated: "response.created",
    server_events.ResponseDone: "response.done",
    server_events.OutputItemAdded: "response.output_item.added",
    server_events.OutputItemDone: "response.output_item.done",
    server_events.ContentPartAdded: "response.content_part.added",
    server_events.ContentPartDone: "response.content_part.done",
    server_events.WrittenDelta: "response.output_text.delta",
    server_events.WrittenDone: "response.output_text.done",
    server_events.TranscriptDelta: "response.output_audio_transcript.delta",
    server_events.TranscriptDone: "response.output_audio_transcript.done",
    server_events.OutputAudioDelta: "response.output_audio.delta",
    server_events.OutputAudioDone: "response.output_audio.done",
    server_events.ToolArgumentsDelta: "response.mcp_call_arguments.delta",
    server_events.ToolArgumentsDone: "response.mcp_call_arguments.done",
    server_events.ToolCompleted: "response.mcp_call.completed",
    server_events.ToolFailed: "response.mcp_call.failed",
    server_events.ToolsListing: "mcp_list_tools.in_progress",
    server_events.ToolsListed: "mcp_list_tools.completed",
    server_events.ToolsUnlisted: "mcp_list_tools.failed",
    server_events.FunctionArgumentsDelta: "response.function_call_arguments.delta",
    server_events.FunctionArgumentsDone: "response.function_call_arguments.done",
    server_events.PlayoutStarted: "output_audio_buffer.started",
    server_events.PlayoutFinished: "output_audio_buffer.stopped",
    server_events.PlayoutCleared: "output_audio_buffer.cleared",
    server_events.RateLimitsUpdated: "rate_limits.updated",
    server_events.ErrorEvent: "error",
    server_events.PartialTranscript: "voiceagent.transcript.partial",
    server_events.NotUnderstood: "voiceagent.not_understood",
    server_events.Heard: "voiceagent.heard",
    server_events.ToolProgress: "voiceagent.tool",
    server_events.StepEntered: "voiceagent.step",
    server_events.ServiceDegraded: "voiceagent.degraded",
    server_events.ValueChanged: "voiceagent.value",
    server_events.HandedOff: "voiceagent.handoff",
    server_events.RecordingChanged: "voiceagent.recording",
    server_events.ResumeOffered: "voiceagent.resume",
    server_events.ConnectionReplaced: "voiceagent.replaced",
    server_events.ServerDrains: "voiceagent.draining",
    server_events.CallEnded: "voiceagent.call_ended",
    turn.TurnMeasured: "voiceagent.turn",
}

SERVER_NOTES: Mapping[str, str] = {
    "conversation.item.input_audio_transcription.delta": "comes once, with the whole text",
    "conversation.item.input_audio_transcription.completed": "`usage` is the length of the audio",
    "input_audio_buffer.timeout_triggered": "the agent then asks whether the caller is there",
    "input_audio_buffer.dtmf_event_received": "of every telephone call; the agent answers the keys by itself, too",
    "output_audio_buffer.started": "over WebRTC",
    "output_audio_buffer.stopped": "over WebRTC",
    "output_audio_buffer.cleared": "over WebRTC",
    "rate_limits.updated": "the key's limit on work of the language model in this call",
    "response.mcp_call.completed": "a tool that this server runs, its own or one of a client's MCP server",
    "response.mcp_call.failed": "a tool that this server runs, its own or one of a client's MCP server",
    "mcp_list_tools.failed": "an `error` beside it says why",
    "response.mcp_call_arguments.delta": "comes once, with all arguments",
    "response.function_call_arguments.delta": "comes once, with all arguments",
    "response.done": "comes when the response was heard. `usage` is what the language model's engine or server counts, and an "
    "estimate where that does not count, or was cut off. Speech is counted by its text",
}
NOT_SENT: Mapping[str, str] = {
    "conversation.created": "no longer sent by the API itself: `session.created` begins a call",
    "conversation.item.created": "`conversation.item.added` and `.done` come in its place",
    "conversation.item.input_audio_transcription.failed": "a recogniser that fails gives its last words, and `completed` comes",
    "conversation.item.input_audio_transcription.segment": "speakers are not told apart",
    "response.mcp_call.in_progress": "the item says so; a client that then asks for it may believe that it still runs",
}

NAMES: Mapping[type, str] = {
    **SERVER_EVENTS,
    server_events.TranscriptionDuration: "duration",
    server_events.AudioPart: "audio",
    server_events.TextPart: "text",
    items.InputText: "input_text",
    items.InputAudio: "input_audio",
    items.OutputAudio: "output_audio",
    items.OutputText: "output_text",
    items.MessageItem: "message",
    items.ToolCallItem: "mcp_call",
    items.ToolFailure: "tool_execution_error",
    items.FunctionCallItem: "function_call",
    items.FunctionOutputItem: "function_call_output",
    items.ListedToolsItem: "mcp_list_tools",
    items.ApprovalRequestItem: "mcp_approval_request",
    items.ApprovalItem: "mcp_approval_response",
}

MAX_METADATA = 16
_ID = Field(text(MAX_ID_CHARACTERS))


def _json_object(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


def _anything(value: object) -> object:
    return value


def _base64(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be text in base64")
    return value


EVENT_ID = Field(optional(text(512)))
EVENT_FIELDS: Mapping[type[ClientEvent], Mapping[str, Field]] = {
    client.SessionUpdate: {"session": Field(_json_object)},
    client.ItemCreate: {
        "item": Field(_anything),
        "previous_item_id": Field(optional(text(MAX_ID_CHARACTERS)), note="`root`: at the beginning; left out: at the end"),
    },
    client.ItemRetrieve: {"item_id": _ID},
    client.ItemDelete: {"item_id": _ID},
    client.ItemTruncate: {
        "item_id": _ID,
        "content_index": Field(integer(0, 0)),
        "audio_end_ms": Field(integer(0, 2**31 - 1)),
    },
    client.ResponseCreate: {"response": Field(optional(_json_object))},
    client.ResponseCancel: {"response_id": Field(optional(text(MAX_ID_CHARACTERS)))},
    client.PlayoutClear: {},
    client.AudioAppend: {"audio": Field(_base64, "differs", "where the call's audio comes by events, so over a WebSocket")},
    client.AudioCommit: {},
    client.AudioClear: {},
}
REQUIRED: Mapping[type[ClientEvent], tuple[str, ...]] = {
    client.SessionUpdate: ("session",),
    client.ItemCreate: ("item",),
    client.ItemRetrieve: ("item_id",),
    client.ItemDelete: ("item_id",),
    client.ItemTruncate: ("item_id", "content_index", "audio_end_ms"),
    client.AudioAppend: ("audio",),
}


def read_event(kind: type[ClientEvent], raw: JsonObject, event_id: str | None) -> ClientEvent:
    """See `Dialect.read`."""
    fields = {**EVENT_FIELDS[kind], "event_id": EVENT_ID}
    values: JsonObject = read_fields(raw, fields, "", event_id)
    for name in REQUIRED.get(kind, ()):
        if name not in values:
            raise invalid(f"{name} is missing.", name, event_id, "missing_parameter")
    if kind is client.ItemCreate:
        values["item"] = read_item(values["item"], "item", event_id)
    if kind is client.ResponseCreate and values.get("response") is None:
        values["response"] = {}
    return kind(**values)


class _Append(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    audio: str
    event_id: str | None = None


def appended_audio(text: str) -> str | None:
    """The audio, in base64, of a message that appends some. None: it does something else, or cannot be used as it is."""
    if _APPEND not in text or len(text) > MAX_AUDIO_EVENT_CHARACTERS:
        return None
    try:
        event = msgspec.json.decode(text, type=_Append)
    except ValueError:
        return None
    return event.audio if event.type == _APPEND else None


_APPEND = "input_audio_buffer.append"


def _metadata(value: object) -> object:
    if value is None:
        return None
    pairs = value.items() if isinstance(value, dict) and len(value) <= MAX_METADATA else [(None, None)]
    if not all(isinstance(key, str) and len(key) <= 64 and isinstance(one, str) and len(one) <= 512 for key, one in pairs):
        raise ValueError(f"must be an object of at most {MAX_METADATA} texts, with keys of 64 and values of 512 characters")
    return value


RESPONSE_FIELDS: Mapping[str, Field] = {
    "instructions": INSTRUCTIONS,
    "output_modalities": MODALITIES,
    "max_output_tokens": MOST_TOKENS,
    "tools": RESPONSE_TOOLS,
    "tool_choice": TOOL_CHOICE,
    "parallel_tool_calls": PARALLEL,
    "prompt": PROMPT,
    "reasoning": REASONING,
    "conversation": Field(optional(one_of("auto", "none")), "differs", "a response with `none` waits for the one that runs"),
    "input": Field(_anything, "differs", "items of text and of tools, and references to items"),
    "metadata": Field(_metadata),
    "audio.output.format": FORMAT,
    "audio.output.voice": VOICE,
}


def read_response(settings: ClientSettings, facts: SessionFacts, given: JsonObject, event_id: str | None) -> ResponseSettings:
    """See `Dialect.read_response`."""
    check_size(given, event_id)
    values: JsonObject = read_fields(given, RESPONSE_FIELDS, "response", event_id)
    if "tool_choice" in values:
        offered = settings.tools if values.get("tools") is None else values["tools"]
        check_forced(values["tool_choice"], offered, facts, "response.tool_choice", event_id)
    encoding = values.get("audio.output.format", settings.output_encoding)
    if encoding != settings.output_encoding:
        param = "response.audio.output.format"
        raise invalid(f"{param} must be the session's; change it with session.update.", param, event_id, "unsupported_value")
    return ResponseSettings(
        instructions=values.get("instructions"),
        text_only=values.get("output_modalities", settings.text_only),
        max_tokens=values.get("max_output_tokens", settings.max_tokens),
        tool_choice=values.get("tool_choice", settings.tool_choice),
        parallel_tool_calls=values.get("parallel_tool_calls", settings.parallel_tool_calls),
        tools=values.get("tools"),
        is_detached=values.get("conversation") == "none",
        input=read_input(values.get("input"), event_id),
        metadata=values.get("metadata"),
    )


OPENAI = Dialect(CLIENT_EVENTS, NAMES, read_event, read_session, write_session, read_response)
