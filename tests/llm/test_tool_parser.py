"""Tool calls found in a stream of text, wherever it is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.history import ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Generated, GeneratedText
from voiceagent.llm.tool_formats import HERMES
from voiceagent.llm.tool_parser import ToolParser


def parsed(pieces: list[str]) -> list[Generated]:
    parser = ToolParser(HERMES, new_call_id=lambda: "id")
    return [found for piece in pieces for found in parser.feed(piece)] + parser.finish()


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


places = st.lists(st.integers(0, 1000), max_size=30)
plain = st.text(alphabet="ab <tol_c>/\n", max_size=40).filter(lambda text: "<tool_call>" not in text)


@given(plain, places)
def test_plain_text_passes_unchanged(text: str, at: list[int]) -> None:
    found = parsed(cut(text, at))
    assert "".join(piece.text for piece in found if isinstance(piece, GeneratedText)) == text


@given(places, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_a_call_is_found_wherever_the_text_is_cut(at: list[int], arguments: dict[str, str]) -> None:
    body = json.dumps({"name": "get_weather", "arguments": arguments})
    found = parsed(cut(f"Let me see. <tool_call>\n{body}\n</tool_call>", at))
    calls = [piece for piece in found if isinstance(piece, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("get_weather", arguments)]
    assert "".join(piece.text for piece in found if isinstance(piece, GeneratedText)).strip() == "Let me see."


def test_several_calls_keep_their_order() -> None:
    found = parsed(['<tool_call>{"name": "a", "arguments": {}}</tool_call>\n<tool_call>{"name": "b"}</tool_call>'])
    assert [piece.name for piece in found if isinstance(piece, ToolCall)] == ["a", "b"]


def test_a_call_without_its_closing_tag_counts_when_it_is_complete() -> None:
    assert parsed(['<tool_call>{"name": "a", "arguments": {}}']) == [ToolCall("id", "a", "{}")]


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        '{"arguments": {}}',
        '{"name": 3}',
        '{"name": "a", "arguments": []}',
        '{"name": "a", "arguments": ' + "[" * 5000,
        '{"name": "a", "arguments": {"x": "\\ud83d"}}',
    ],
)
def test_a_call_that_cannot_be_read_is_one_clear_error(body: str) -> None:
    with pytest.raises(EngineError, match="tool call"):
        parsed([f"<tool_call>{body}</tool_call>"])
