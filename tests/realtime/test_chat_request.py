"""Chat requests are read, or refused by the name of the field."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionDeveloperMessageParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.chat_completion_stream_options_param import ChatCompletionStreamOptionsParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.realtime.chat_request import CHAT_FIELDS, MAX_MESSAGES, MESSAGE_FIELDS, ChatRequest, read_chat_request
from voiceagent.realtime.client_events import ClientEventError

HELLO = {"role": "user", "content": "Hello"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "fine"}


def read(messages: object, **fields: object) -> ChatRequest:
    return read_chat_request(json.dumps({"model": "m", "messages": messages, **fields}).encode())


def test_every_field_of_the_api_has_its_place_in_the_table() -> None:
    named = {name.split(".")[0] for name in CHAT_FIELDS}
    assert set(CompletionCreateParamsStreaming.__annotations__) <= named
    options = {f"stream_options.{name}" for name in ChatCompletionStreamOptionsParam.__annotations__}
    assert options <= set(CHAT_FIELDS)
    roles: dict[str, Any] = {
        "system": ChatCompletionSystemMessageParam,
        "developer": ChatCompletionDeveloperMessageParam,
        "user": ChatCompletionUserMessageParam,
        "assistant": ChatCompletionAssistantMessageParam,
        "tool": ChatCompletionToolMessageParam,
    }
    for role, kind in roles.items():
        assert set(kind.__annotations__) == {*MESSAGE_FIELDS[role], "role"}


def test_a_conversation_is_read_into_messages() -> None:
    parts = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}]
    asked = read([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": parts}, CALLED, RESULT])
    assert asked.messages == (
        Message("system", "Be brief."),
        Message("user", "Hello there"),
        Message("assistant", "", (ToolCall("c", "f", "{}"),)),
        Message("tool", "fine", tool_call_id="c"),
    )
    assert not asked.streams


def test_settings_are_those_of_a_call() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": False}}
    asked = read([HELLO], max_tokens=9, tools=[tool], tool_choice="none", stream=True, stream_options={"include_usage": True})
    assert (asked.streams, asked.counts, asked.tools) == (True, True, frozenset({"f"}))
    assert asked.session == {
        "type": "realtime",
        "output_modalities": ["text"],
        "max_output_tokens": 9,
        "tool_choice": "none",
        "tools": [{"type": "function", "name": "f", "description": "", "parameters": {"type": "object"}}],
    }


@pytest.mark.parametrize(
    ("messages", "fields", "param"),
    [
        ([], {}, "messages"),
        ([HELLO] * (MAX_MESSAGES + 1), {}, "messages"),
        ([{"role": "function", "content": "x"}], {}, "messages[0].role"),
        ([{"role": "user", "content": " "}], {}, "messages[0].content"),
        ([{"role": "user", "content": "x" * 4001}], {}, "messages[0].content"),
        ([{"role": "user", "content": "x", "name": "Ann"}], {}, "messages[0].name"),
        ([HELLO, {"role": "assistant", "content": "x", "nonsense": 1}, HELLO], {}, "messages[1].nonsense"),
        ([RESULT], {}, "messages[0].tool_call_id"),
        ([HELLO, CALLED, HELLO], {}, "messages[2]"),
        ([HELLO, CALLED, RESULT, RESULT], {}, "messages[3].tool_call_id"),
        ([HELLO, CALLED], {}, "messages"),
        ([HELLO, {**CALLED, "tool_calls": [CALL, CALL]}, RESULT], {}, "messages[1].tool_calls"),
        ([HELLO, {**CALLED, "tool_calls": [{**CALL, "type": "custom"}]}, RESULT], {}, "messages[1].tool_calls"),
        ([{"role": "system", "content": "x"}], {}, "messages"),
        ([HELLO], {"stream_options": {"include_usage": True}}, "stream_options"),
        ([HELLO], {"max_tokens": 9, "max_completion_tokens": 9}, "max_tokens"),
        ([HELLO], {"n": 2}, "n"),
        ([HELLO], {"tool_choice": {"type": "function", "function": {}}}, "tool_choice"),
        ([HELLO], {"tools": [{"type": "custom", "custom": {}}]}, "tools"),
        ([HELLO], {"response_format": {"type": "json_object"}}, "response_format"),
    ],
)
def test_what_cannot_be_used_is_named(messages: object, fields: dict[str, object], param: str) -> None:
    with pytest.raises(ClientEventError) as refused:
        read(messages, **fields)
    assert refused.value.param == param
    assert "\n" not in str(refused.value)


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 5) | some.sampled_from(["user", "tool", "text", "function", "x", ""]),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(
                ["role", "content", "tool_calls", "id", "function", "name", "arguments", "type", "text", "tool_call_id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(some.dictionaries(some.sampled_from([*CHAT_FIELDS, "stream_options", "other"]), VALUES, max_size=5), some.lists(VALUES))
def test_whatever_comes_is_read_or_refused(fields: dict[str, object], messages: list[object]) -> None:
    for body in ({"model": "m", "messages": [*messages, HELLO], **fields}, fields, messages):
        with suppress(ClientEventError):
            assert read_chat_request(json.dumps(body).encode()).messages


@given(some.binary(max_size=60))
def test_whatever_bytes_come_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(ClientEventError):
        read_chat_request(body)
