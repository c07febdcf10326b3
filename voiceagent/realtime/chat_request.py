"""The request of OpenAI's Chat Completions, read into messages and the settings of a call. A field that has no effect here is
refused by its name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar, cast

from msgspec import Meta, Struct, ValidationError, convert

from voiceagent.conversation.history import Message, Role, ToolCall, read_arguments
from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import MAX_TEXT_CHARACTERS
from voiceagent.realtime.openai_fields import Field, flag, integer, only, optional, read_fields, text
from voiceagent.realtime.openai_session import (
    MAX_INSTRUCTIONS_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_TOKENS,
    PARALLEL,
    REASONING,
    TOOL_CHOICE,
)
from voiceagent.realtime.settings import invalid
from voiceagent.untrusted_json import read_json

MAX_MESSAGES = 256
SAMPLING = "the agent's own model and its settings answer"
LIMITS_BY_KEY = "limits go by the key"
NOT_STORED = "nothing is stored for the client"
ONE_TEXT = "an answer is one text"
NO_CACHE = "prompts are cached by themselves"

_Kind = TypeVar("_Kind")


class ChatRequest(Struct, frozen=True):
    """A request for one answer."""

    model: str
    messages: tuple[Message, ...]
    """The conversation. The last one that is no system message is the caller's, or a tool's result."""
    session: JsonObject
    """The settings of the call, as an offer has them."""
    tools: frozenset[str] = frozenset()
    """The names of the client's own tools."""
    streams: bool = False
    counts: bool = False
    """True if the stream ends with the number of tokens."""


def _joined(value: object) -> str:
    """The text of a message: a string, or a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise ValueError("must be text, or a list of parts with text")
    for part in value:
        if not isinstance(part, dict) or part.get("type") != "text":
            kind = part.get("type") if isinstance(part, dict) else part
            raise ValueError(f"has a part of type {str(kind)[:40]!r}, which is not supported: this endpoint takes text")
        if not isinstance(part.get("text"), str) or part.keys() != {"type", "text"}:
            raise ValueError("has a part that is not {type, text}")
    return " ".join(part["text"] for part in value)


def _content(longest: int) -> Field:
    def check(value: object) -> object:
        return text(longest)(_joined(value))

    return Field(check, "supported", f"text, or parts with text; at most {longest} characters")


class _Called(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    arguments: str


class _ToolCall(Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARACTERS)]
    function: _Called
    type: Literal["function"] = "function"


class _Function(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class _Tool(Struct, frozen=True, forbid_unknown_fields=True):
    function: _Function
    type: Literal["function"]


def _converted(value: object, kind: type[_Kind]) -> _Kind:
    try:
        return convert(value, kind)
    except ValidationError as error:
        raise ValueError(f"cannot be used: {error}") from error


def _tool_calls(value: object) -> object:
    calls = tuple(ToolCall(one.id, one.function.name, one.function.arguments) for one in _converted(value, list[_ToolCall]))
    if len({call.call_id for call in calls}) < len(calls):
        raise ValueError("must have an id of its own for each call")
    if any(read_arguments(call.arguments) is None for call in calls):
        raise ValueError("must have a JSON object as the arguments of each call")
    return calls


def _tools(value: object) -> object:
    """The client's tools in the Realtime API's form."""
    functions = [one.function for one in _converted(value, list[_Tool])]
    if any(function.strict for function in functions):
        raise ValueError("has a strict function, which is not supported: arguments are checked against the schema")
    return tuple(
        {
            "type": "function",
            "name": function.name,
            "description": function.description or "",
            "parameters": function.parameters or {},
        }
        for function in functions
    )


class _NamedTool(Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class _Forced(Struct, frozen=True, forbid_unknown_fields=True):
    function: _NamedTool
    type: Literal["function"]


def _tool_choice(value: object) -> object:
    """The choice in the Realtime API's form."""
    if isinstance(value, dict) and "function" in value:
        value = {"type": "function", "name": _converted(value, _Forced).function.name}
    return TOOL_CHOICE.check(value)


def _messages(value: object) -> object:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise ValueError(f"must be a list of 1 to {MAX_MESSAGES} messages")
    return value


NO_NAME = only(None, why="the role says who speaks")
NO_AUDIO = only(None, why="the Realtime API has audio")
OLD_FUNCTIONS = "`tools` has replaced it"
INSTRUCTIONS = _content(MAX_INSTRUCTIONS_CHARACTERS)

MESSAGE_FIELDS: Mapping[str, Mapping[str, Field]] = {
    "system": {
        "content": Field(INSTRUCTIONS.check, "differs", "added to the agent's own instructions"),
        "name": NO_NAME,
    },
    "developer": {"content": Field(INSTRUCTIONS.check, "differs", "the same as `system`"), "name": NO_NAME},
    "user": {"content": _content(MAX_TEXT_CHARACTERS), "name": NO_NAME},
    "assistant": {
        "content": Field(optional(INSTRUCTIONS.check), "supported", INSTRUCTIONS.note),
        "tool_calls": Field(optional(_tool_calls)),
        "refusal": only(None, why="the agent's refusals are text"),
        "audio": NO_AUDIO,
        "function_call": only(None, why=OLD_FUNCTIONS),
        "name": NO_NAME,
    },
    "tool": {"content": INSTRUCTIONS, "tool_call_id": Field(text(MAX_NAME_CHARACTERS))},
}

CHAT_FIELDS: Mapping[str, Field] = {
    "messages": Field(_messages, "supported", f"at most {MAX_MESSAGES}; the last is the caller's, or a tool's result"),
    "model": Field(text(MAX_NAME_CHARACTERS), "differs", "the agent's name, or `voiceagent`; another one is `model_not_found`"),
    "stream": Field(optional(flag)),
    "stream_options.include_usage": Field(optional(flag)),
    "stream_options.include_obfuscation": only(None, False, why="nothing is padded"),
    "max_completion_tokens": Field(optional(integer(1, MAX_TOKENS))),
    "max_tokens": Field(optional(integer(1, MAX_TOKENS))),
    "tools": Field(
        optional(_tools), "differs", "functions that the client runs. The agent's own tools run on the server, and are not shown"
    ),
    "tool_choice": Field(_tool_choice, TOOL_CHOICE.support, TOOL_CHOICE.note),
    "parallel_tool_calls": PARALLEL,
    "n": only(None, 1, why="there is one answer"),
    "modalities": only(None, ["text"], why="the Realtime API has audio"),
    "audio": NO_AUDIO,
    "response_format": only(None, {"type": "text"}, why=ONE_TEXT),
    "temperature": only(None, 1, 1.0, why=SAMPLING),
    "top_p": only(None, 1, 1.0, why=SAMPLING),
    "presence_penalty": only(None, 0, 0.0, why=SAMPLING),
    "frequency_penalty": only(None, 0, 0.0, why=SAMPLING),
    "seed": only(None, why=SAMPLING),
    "stop": only(None, [], why=SAMPLING),
    "logit_bias": only(None, {}, why=SAMPLING),
    "logprobs": only(None, False, why=ONE_TEXT),
    "top_logprobs": only(None, why=ONE_TEXT),
    "reasoning_effort": only(None, why=REASONING.note),
    "verbosity": only(None, why="the agent's instructions say how long answers are"),
    "prediction": only(None, why=SAMPLING),
    "web_search_options": only(None, why="the agent's tools and documents stand in agent.yaml"),
    "functions": only(None, [], why=OLD_FUNCTIONS),
    "function_call": only(None, why=OLD_FUNCTIONS),
    "moderation": only(None, why="the agent's guard stands in agent.yaml"),
    "metadata": only(None, {}, why=NOT_STORED),
    "store": only(None, False, why=NOT_STORED),
    "user": only(None, why=LIMITS_BY_KEY),
    "safety_identifier": only(None, why=LIMITS_BY_KEY),
    "service_tier": only(None, "auto", "default", why="all answers are served alike"),
    "prompt_cache_key": only(None, why=NO_CACHE),
    "prompt_cache_options": only(None, why=NO_CACHE),
    "prompt_cache_retention": only(None, why=NO_CACHE),
}


def read_chat_request(body: bytes) -> ChatRequest:
    """Read the body of a request. Raises ClientEventError, which names the field."""
    try:
        given = read_json(body)
    except ValueError as error:
        raise invalid(f"The body cannot be read as JSON: {error}.", "", None, "invalid_body") from error
    if not isinstance(given, dict):
        raise invalid("The body must be a JSON object.", "", None, "invalid_body")
    asked = read_fields(given, CHAT_FIELDS, "", None)
    for name in ("model", "messages"):
        if name not in asked:
            raise invalid(f"{name} is missing.", name, None, "missing_required_parameter")
    streams = asked.get("stream") is True
    if given.get("stream_options") is not None and not streams:
        raise invalid("stream_options needs stream: true.", "stream_options", None)
    both = [asked[name] for name in ("max_completion_tokens", "max_tokens") if asked.get(name) is not None]
    if len(both) > 1:
        raise invalid("max_tokens and max_completion_tokens say the same; leave one out.", "max_tokens", None)
    tools = cast("tuple[JsonObject, ...]", asked.get("tools") or ())
    session: JsonObject = {"type": "realtime", "output_modalities": ["text"], "tools": list(tools)}
    session |= {"max_output_tokens": both[0]} if both else {}
    session |= {name: asked[name] for name in ("tool_choice", "parallel_tool_calls") if name in asked}
    return ChatRequest(
        str(asked["model"]),
        _conversation(cast("list[object]", asked["messages"])),
        session,
        frozenset(str(tool["name"]) for tool in tools),
        streams,
        asked.get("stream_options.include_usage") is True,
    )


def _conversation(given: list[object]) -> tuple[Message, ...]:
    messages = tuple(_message(one, f"messages[{number}]") for number, one in enumerate(given))
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                told = "must be the id of a call in the assistant's message before it, which has no result yet."
                raise invalid(f"messages[{number}].tool_call_id {told}", f"messages[{number}].tool_call_id", None)
            waiting.remove(message.tool_call_id)
        elif waiting and message.role != "system":
            raise invalid(f"A call has no result before messages[{number}]: {min(waiting)}.", f"messages[{number}]", None)
        waiting |= {call.call_id for call in message.tool_calls}
    said = [message for message in messages if message.role != "system"]
    if not said or said[-1].role == "assistant" or waiting:
        raise invalid("The last of messages must be the caller's, or a tool's result.", "messages", None)
    return messages


def _message(given: object, param: str) -> Message:
    role = given.get("role") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(role, str) or role not in MESSAGE_FIELDS:
        raise invalid(f"{param}.role must be one of {', '.join(MESSAGE_FIELDS)}.", f"{param}.role", None)
    fields = {name: value for name, value in given.items() if name != "role"}
    found = read_fields(fields, MESSAGE_FIELDS[role], param, None)
    words = (
        " ".join(str(found.get("content") or "").split()) if role in ("user", "assistant") else str(found.get("content") or "")
    )
    calls = cast("tuple[ToolCall, ...]", found.get("tool_calls") or ())
    if not words.strip() and not calls and role != "tool":
        raise invalid(f"{param}.content holds no text; expected at least one word.", f"{param}.content", None)
    if role == "tool" and not {"content", "tool_call_id"} <= found.keys():
        raise invalid(f"{param} needs content and tool_call_id.", param, None)
    kind = "system" if role == "developer" else role
    return Message(cast(Role, kind), words, calls, str(found.get("tool_call_id") or ""))
