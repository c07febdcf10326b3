"""Items that a client of OpenAI's Realtime API adds to the conversation, and items in the input of a response. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import (
    MAX_TEXT_CHARACTERS,
    NewApproval,
    NewFunctionCall,
    NewFunctionOutput,
    NewItem,
    NewMessage,
)
from voiceagent.realtime.openai_fields import Field, flag, one_of, only, optional, read_fields, text
from voiceagent.realtime.response_settings import ItemReference
from voiceagent.realtime.settings import invalid

MAX_ID_CHARACTERS = 64
MAX_PARTS = 16
MAX_ARGUMENTS_CHARACTERS = 16_000
MAX_REASON_CHARACTERS = 1000

_ID = Field(optional(text(MAX_ID_CHARACTERS)))
_OBJECT = Field(optional(one_of("realtime.item")))
_STATUS = Field(optional(one_of("completed", "incomplete", "in_progress")), "differs", "an item that a client adds is complete")


def _parts(value: object) -> object:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PARTS or not all(isinstance(part, dict) for part in value):
        raise ValueError(f"must be a list of 1 to {MAX_PARTS} parts")
    return value


ITEM_FIELDS: Mapping[str, Mapping[str, Field]] = {
    "message": {
        "id": _ID,
        "object": _OBJECT,
        "status": _STATUS,
        "role": Field(one_of("user", "assistant", "system")),
        "content": Field(_parts, "differs", "parts of text, and of speech with a transcript; images are refused"),
    },
    "function_call": {
        "id": _ID,
        "object": _OBJECT,
        "status": _STATUS,
        "call_id": Field(optional(text(MAX_ID_CHARACTERS))),
        "name": Field(text(MAX_ID_CHARACTERS)),
        "arguments": Field(text(MAX_ARGUMENTS_CHARACTERS)),
    },
    "function_call_output": {
        "id": _ID,
        "object": _OBJECT,
        "status": _STATUS,
        "call_id": Field(text(MAX_ID_CHARACTERS)),
        "output": Field(text(65_536)),
    },
    "mcp_approval_response": {
        "id": _ID,
        "approval_request_id": Field(text(MAX_ID_CHARACTERS)),
        "approve": Field(flag),
        "reason": Field(optional(text(MAX_REASON_CHARACTERS))),
    },
}
REFUSED_ITEMS = ("mcp_list_tools", "mcp_call", "mcp_approval_request")
NO_MCP = "only this server adds it"
PARTS = {"user": ("input_text", "input_audio"), "assistant": ("output_text", "output_audio"), "system": ("input_text",)}
"""The parts of a message of each role: of text, and of speech."""
REFUSED_PARTS = {"input_image": "the agent sees nothing"}
SPEECH_FIELDS: Mapping[str, Field] = {
    "transcript": Field(text(MAX_TEXT_CHARACTERS), note="of `input_audio` and `output_audio`"),
    "audio": only(None, why="the transcript is read; what is to be recognised comes by input_audio_buffer.append"),
}
TEXT_FIELDS: Mapping[str, Field] = {
    "text": Field(text(MAX_TEXT_CHARACTERS), note="of `input_text` and `output_text`"),
    "image_url": only(None, why="a part holds text alone"),
    "detail": only(None, "auto", why="a part holds text alone"),
}


def read_item(raw: object, param: str, event_id: str | None) -> NewItem:
    """An item of a client. Raises ClientEventError."""
    kind, given = _kind(raw, param, event_id)
    if kind in REFUSED_ITEMS:
        raise invalid(f"{param}.type {kind} is not supported: {NO_MCP}.", f"{param}.type", event_id, "unsupported_value")
    if kind not in ITEM_FIELDS:
        known = ", ".join(ITEM_FIELDS)
        raise invalid(f"{param}.type is {kind[:40]!r}; expected one of {known}.", f"{param}.type", event_id)
    values: JsonObject = read_fields(given, ITEM_FIELDS[kind], param, event_id)
    _require(values, kind, param, event_id)
    if kind == "message":
        parts = values["content"]
        texts = tuple(_text(part, values["role"], f"{param}.content[{number}]", event_id) for number, part in enumerate(parts))
        spoken = frozenset(number for number, part in enumerate(parts) if _is_speech(part["type"]))
        return NewMessage(values["role"], texts, values.get("id"), spoken)
    if kind == "function_call":
        call_id = values.get("call_id") or ""
        return NewFunctionCall(values["name"], values["arguments"], call_id, values.get("id"))
    if kind == "mcp_approval_response":
        return NewApproval(values["approval_request_id"], values["approve"], values.get("reason") or "", values.get("id"))
    return NewFunctionOutput(values["call_id"], values["output"], values.get("id"))


def read_input(raw: object, event_id: str | None) -> tuple[NewItem | ItemReference, ...] | None:
    """The `input` of a response. Raises ClientEventError."""
    param = "response.input"
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) > 64:
        raise invalid(f"{param} must be a list of at most 64 items.", param, event_id)
    items: list[NewItem | ItemReference] = []
    for number, one in enumerate(raw):
        here = f"{param}[{number}]"
        kind, given = _kind(one, here, event_id)
        if kind == "item_reference":
            values = read_fields(given, {"id": Field(text(MAX_ID_CHARACTERS))}, here, event_id)
            _require(values, kind, here, event_id, ("id",))
            items.append(ItemReference(str(values["id"])))
        elif kind == "mcp_approval_response":
            raise invalid(f"{here}.type {kind} is no part of what a response answers.", f"{here}.type", event_id)
        else:
            items.append(read_item(one, here, event_id))
    return tuple(items)


def _kind(raw: object, param: str, event_id: str | None) -> tuple[str, JsonObject]:
    """The type of an item, and its other fields."""
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise invalid(f"{param} must be an object with a `type`.", param, event_id)
    return raw["type"], {name: value for name, value in raw.items() if name != "type"}


_REQUIRED = {
    "message": ("role", "content"),
    "function_call": ("name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "mcp_approval_response": ("approval_request_id", "approve"),
}


def _require(
    values: Mapping[str, object], kind: str, param: str, event_id: str | None, names: tuple[str, ...] | None = None
) -> None:
    for name in _REQUIRED[kind] if names is None else names:
        if name not in values:
            raise invalid(f"{param}.{name} is missing.", f"{param}.{name}", event_id, "missing_parameter")


def _text(part: JsonObject, role: str, param: str, event_id: str | None) -> str:
    kind = str(part.get("type"))
    if kind in REFUSED_PARTS:
        raise invalid(
            f"{param}.type {kind} is not supported: {REFUSED_PARTS[kind]}.", f"{param}.type", event_id, "unsupported_value"
        )
    if kind not in PARTS[role]:
        known = " or ".join(PARTS[role])
        raise invalid(f"{param}.type must be {known} in a message of role {role}.", f"{param}.type", event_id)
    given = {name: value for name, value in part.items() if name != "type"}
    wanted, fields = ("transcript", SPEECH_FIELDS) if _is_speech(kind) else ("text", TEXT_FIELDS)
    values = read_fields(given, fields, param, event_id)
    if wanted not in values:
        raise invalid(f"{param}.{wanted} is missing.", f"{param}.{wanted}", event_id, "missing_parameter")
    return str(values[wanted])


def _is_speech(kind: str) -> bool:
    return kind.endswith("_audio")
