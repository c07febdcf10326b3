"""Tool calls found in a stream of text, in every form and wherever it is cut."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.history import ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.prompt import Answer
from voiceagent.llm.chat.tool_formats import ANY_FORMAT, BY_NAME, FORMATS, HERMES
from voiceagent.llm.chat.tool_parser import MAX_CALL_CHARACTERS, MAX_CALLS, ToolParser
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema

STREAMS = yaml.safe_load((Path(__file__).parent / "streams.yaml").read_text(encoding="utf-8"))
ONLY_KNOWN = ("olmo", "jamba", "tool_code", "harmony")
"""Forms that are looked for only where the template told of them."""


def tool(name: str, **types: str) -> ToolSchema:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


TOOLS = [
    tool("get_weather", city="string", days="integer", celsius="boolean", code="string"),
    tool("get_time", city="string"),
    tool("send", text="string", data="object"),
]


def parsed(pieces: list[str]) -> list[Generated]:
    parser = ToolParser(HERMES, new_call_id=lambda: "id")
    return [found for piece in pieces for found in parser.feed(piece)] + parser.finish()


def answered(form: str, pieces: list[str]) -> tuple[str, list[list[Any]]]:
    """What is said, and what is called."""
    answer = Answer(BY_NAME.get(form), TOOLS)
    found = [piece for text in pieces for piece in answer.feed(text)] + answer.finish()
    calls = [[call.name, json.loads(call.arguments)] for call in found if isinstance(call, ToolCall)]
    return "".join(piece.text for piece in found if isinstance(piece, GeneratedText)), calls


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


places = st.lists(st.integers(0, 1000), max_size=30)
plain = st.text(alphabet="ab <tol_c>/\n", max_size=40).filter(lambda text: "<too" not in text)


def test_every_form_has_a_stream() -> None:
    assert {stream["form"] for stream in STREAMS} == set(BY_NAME)


@pytest.mark.parametrize("stream", STREAMS, ids=[f"{n}-{stream['form']}" for n, stream in enumerate(STREAMS)])
def test_calls_of_every_family_are_found_and_never_said_wherever_the_text_is_cut(stream: dict[str, Any]) -> None:
    written, expected = stream["written"], (stream.get("said", ""), stream["calls"])
    rng = random.Random(written)
    cuts = [[written], list(written), *(cut(written, [rng.randrange(1000) for _ in range(12)]) for _ in range(20))]
    for pieces in cuts:
        said, calls = answered(stream["form"], pieces)
        assert (said.strip(), calls) == expected
        if stream["form"] not in ONLY_KNOWN:
            said, calls = answered("", pieces)
            assert said.strip() == expected[0] or "brave" in written, "a server's text"
            assert calls == expected[1] or "brave" in written


@pytest.mark.parametrize("stream", [one for one in STREAMS if one["calls"]], ids=lambda stream: stream["form"])
def test_a_call_that_is_cut_off_is_an_error_or_not_yet_begun(stream: dict[str, Any]) -> None:
    written, said = stream["written"], stream.get("said", "")
    for end in range(1, len(written)):
        try:
            heard, _ = answered(stream["form"], [written[:end]])
        except EngineError:
            continue
        assert said.startswith(heard.strip()) or len(heard.strip().removeprefix(said).strip()) < 4, heard


@given(plain, places)
def test_plain_text_passes_unchanged(text: str, at: list[int]) -> None:
    found = parsed(cut(text, at))
    assert "".join(piece.text for piece in found if isinstance(piece, GeneratedText)) == text


@pytest.mark.parametrize("form", [*BY_NAME, ""])
def test_words_are_not_held_back(form: str) -> None:
    answer, given_out = Answer(BY_NAME.get(form), TOOLS), ""
    for word in ["Sure,", "now", "is", "7", "pm", "(or", "8)", "here."]:
        pieces = answer.feed(f" {word}" if given_out else word)
        given_out += "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText))
        assert given_out.endswith(word)


brackets = st.text(alphabet="ab [](){}<>|\"':,=;\n`_TOLCAS", max_size=60)


@given(brackets, places)
def test_a_servers_text_reads_the_same_wherever_it_is_cut(text: str, at: list[int]) -> None:
    def read(pieces: list[str]) -> object:
        try:
            return answered("", pieces)
        except EngineError:
            return "refused"

    assert read(cut(text, at)) == read([text])


@pytest.mark.parametrize("form", [form.name for form in FORMATS])
@given(text=brackets, at=places)
def test_any_text_reads_the_same_in_any_form(form: str, text: str, at: list[int]) -> None:
    def read(pieces: list[str]) -> object:
        try:
            return answered(form, pieces)
        except EngineError:
            return "refused"

    assert read(cut(text, at)) == read([text])


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


def test_no_text_comes_before_a_call_that_is_all() -> None:
    assert isinstance(parsed(["\n", "\n<tool", '_call>{"name": "a", "arguments": {}}</tool_call>'])[0], ToolCall)


def test_a_call_without_its_closing_tag_counts_when_it_is_complete() -> None:
    assert parsed(['<tool_call>{"name": "a", "arguments": {}}']) == [ToolCall("id", "a", "{}")]


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        "",
        '{"arguments": {}}',
        '{"name": 3}',
        '{"name": "a", "arguments": []}',
        '{"name": "a", "arguments": "no JSON"}',
        '{"name": "a", "arguments": ' + "[" * 5000,
        '{"name": "a", "arguments": {"x": "\\ud83d"}}',
    ],
)
def test_a_call_that_cannot_be_read_is_one_clear_error(body: str) -> None:
    with pytest.raises(EngineError, match="tool call"):
        parsed([f"<tool_call>{body}</tool_call>"])


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("llama", '{"name": "a", "parameters": {"x": '),
        ("llama", '{"name": "a", "parameters": [1]}'),
        ("llama", "<|python_tag|>import os"),
        ("pythonic", "[a(x=1), 5]"),
        ("pythonic", "[a(x=open('f'))]"),
        ("pythonic", "[a(**b)]"),
        ("pythonic", "[a(1, 2)]"),
        ("tool_code", "```tool_code\nx = 1\n```"),
        ("mistral", "[TOOL_CALLS]nothing"),
        ("qwen_xml", "<tool_call>\nget_time\n</tool_call>"),
        ("glm", "<tool_call>get_time\n<arg_key>city</arg_key>"),
        ("deepseek", "<｜tool▁calls▁begin｜>get_time<｜tool▁calls▁end｜>"),
        ("hermes", f"<tool_call>{'x' * (MAX_CALL_CHARACTERS + 1)}"),
        ("llama", '{"name": "' + "x" * (MAX_CALL_CHARACTERS + 1)),
        ("hermes", '<tool_call>{"name": "a"}</tool_call>' * (MAX_CALLS + 1)),
    ],
)
def test_what_is_no_call_of_its_form_is_refused_and_not_said(form: str, text: str) -> None:
    with pytest.raises(EngineError, match=r"tool call|tools at once"):
        answered(form, [text])


def test_a_servers_json_without_one_of_the_tools_is_text() -> None:
    assert ANY_FORMAT.bare
    assert answered("", ['{"name": "other", "parameters": {}}'])[1] == []
    assert answered("", ['{"name": "get_time", "parameters": {}}'])[1] == [["get_time", {}]]
    assert answered("", ['[other(a=1)] and [get_time(city="Oslo")]'])[1] == [["get_time", {"city": "Oslo"}]]
