"""Tool calls that a model writes into its text by the tool's name: never said, whatever their form, and sentences always."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.faulty_server import chunk, faulty_server
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.chat.prompt import Answer
from voiceagent.llm.engine import GeneratedText, ToolSchema
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions


def tool(name: str, **types: str) -> ToolSchema:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


TOOLS = [
    tool("save_answer", q="integer", text="string"),
    tool("search", query="string"),
    tool("getWeather", city="string"),
    tool("transfer", to="string"),
    tool("end-call"),
]
CALLS = {
    "save_answer(q=1)": ("save_answer", {"q": 1}),
    'saveAnswer({"q": 1})': ("save_answer", {"q": 1}),
    'SaveAnswer({"q": 1})': ("save_answer", {"q": 1}),
    'SAVE_ANSWER({"q": 1});': ("save_answer", {"q": 1}),
    'save-answer {"q": 1}': ("save_answer", {"q": 1}),
    "saveAnswer(1)": ("save_answer", {"q": 1}),
    'functions.save_answer({"q": 1})': ("save_answer", {"q": 1}),
    "functions.save_answer(q=1)": ("save_answer", {"q": 1}),
    'tools.saveAnswer(q=1, text="a (b) c")': ("save_answer", {"q": 1, "text": "a (b) c"}),
    'to=functions.save_answer {"q": 1}': ("save_answer", {"q": 1}),
    'commentary to=functions.save_answer json{"q": 1}': ("save_answer", {"q": 1}),
    'save_answer: {"q": 1}': ("save_answer", {"q": 1}),
    'save_answer with arguments {"q": 1}': ("save_answer", {"q": 1}),
    'Action: save_answer\nAction Input: {"q": 1}': ("save_answer", {"q": 1}),
    "`save_answer(q=1)`": ("save_answer", {"q": 1}),
    "```python\nsave_answer(q=1)\n```": ("save_answer", {"q": 1}),
    "print(save_answer(q=1))": ("save_answer", {"q": 1}),
    "print(default_api.save_answer(q=1))": ("save_answer", {"q": 1}),
    'functions.save_answer:0 {"q": 1}': ("save_answer", {"q": 1}),
    'assistant to=save_answer {"q": 1}': ("save_answer", {"q": 1}),
    '<invoke name="save_answer"><parameter name="q">1</parameter></invoke>': ("save_answer", {"q": 1}),
    "[save_answer(q=1)]": ("save_answer", {"q": 1}),
    '{"name": "save_answer", "arguments": {"q": 1}}': ("save_answer", {"q": 1}),
    '{"name": "saveAnswer", "arguments": {"q": 1}}': ("save_answer", {"q": 1}),
    '```json\n{"name": "save_answer", "arguments": {"q": 1}}\n```': ("save_answer", {"q": 1}),
    '[{"name": "save_answer", "arguments": {"q": 1}}]': ("save_answer", {"q": 1}),
    '{"type": "function", "function": {"name": "save_answer", "arguments": "{\\"q\\": 1}"}}': ("save_answer", {"q": 1}),
    '<tool_call>{"name": "save_answer", "arguments": {"q": 1}}</tool_call>': ("save_answer", {"q": 1}),
    '[TOOL_CALLS]save_answer{"q": 1}': ("save_answer", {"q": 1}),
    "<|python_tag|>save_answer.call(q=1)": ("save_answer", {"q": 1}),
    'search("pizza")': ("search", {"query": "pizza"}),
    'search(query="pizza")': ("search", {"query": "pizza"}),
    'search {"query": "pizza"}': ("search", {"query": "pizza"}),
    'get_weather(city="Oslo")': ("getWeather", {"city": "Oslo"}),
    "end_call()": ("end-call", {}),
}
"""What a model writes, and what it means."""
NO_CALLS = [
    '```json\n{"q": 1}\n```',
    '{"q": 1, "text": "a"}',
    '{"tool": "save_answer", "tool_input": {"q": 1}}',
    '{"save_answer": {"q": 1}}',
    '{"action": "save_answer", "action_input": "1"}',
    "save_answer(q=",
    "functions.save_answer({",
    "save_answer(q=unquoted text)",
]
"""What is of a call, and cannot be run."""
SENTENCES = [
    "I will search (again) for it.",
    "Let me search for it.",
    "I can search",
    "Your transfer(s) went out.",
    "I will transfer (to Anna) you now.",
    "Shall I save answer two?",
    "The search: it is done.",
    "I search (see below, at 5) and transfer you.",
    "Search (5 results) and more.",
    "Save, answer, search.",
    "We end calls (often) late.",
    "The tool is here. To begin, print it. Call: 555.",
    "It is 5 {or so} here.",
    "An action: walk. A function works.",
]


def read(pieces: list[str], *, called: bool = False) -> tuple[str, list[tuple[str, Any]]]:
    answer = Answer(None, TOOLS)
    found = [piece for text in pieces for piece in answer.feed(text)] + answer.finish(called=called)
    calls = [(piece.name, json.loads(piece.arguments)) for piece in found if isinstance(piece, ToolCall)]
    return "".join(piece.text for piece in found if isinstance(piece, GeneratedText)), calls


def every_cut(text: str) -> list[list[str]]:
    return [[text], list(text), *([text[:at], text[at:]] for at in range(1, len(text)))]


@pytest.mark.parametrize("written", CALLS)
def test_a_call_in_the_text_is_read_and_not_said_wherever_it_is_cut(written: str) -> None:
    for pieces in every_cut(written):
        assert read(pieces) == ("", [CALLS[written]]), pieces
    for pieces in every_cut(f"Let me write that down. {written}"):
        said, calls = read(pieces)
        assert (said.strip(), calls) == ("Let me write that down.", [CALLS[written]]), pieces


@pytest.mark.parametrize("written", NO_CALLS)
def test_what_is_of_a_call_and_cannot_be_run_is_left_out(written: str) -> None:
    for pieces in every_cut(f"One moment. {written}"):
        said, calls = read(pieces)
        assert (said.strip(), calls) == ("One moment.", []), pieces


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_with_a_tools_name_is_said(sentence: str) -> None:
    for pieces in every_cut(sentence):
        assert read(pieces) == (sentence, []), pieces


@pytest.mark.parametrize("name", ["save_answer", "saveAnswer", "search", "Search"])
def test_a_name_alone_beside_a_call_is_not_said(name: str) -> None:
    assert read(list(name), called=True) == ("", [])


def test_text_goes_on_after_a_call() -> None:
    said, calls = read(list("Sure. save_answer(q=1) Done."))
    assert said.replace(" ", "") == "Sure.Done."
    assert calls == [("save_answer", {"q": 1})]


@given(
    st.lists(
        st.sampled_from(["save", "_answer", "(", "q", "=", "1", ")", " ", "`", "{", '"', "}", ":", "search", "to="]), max_size=14
    ),
    st.lists(st.integers(0, 100), max_size=6),
)
def test_any_text_reads_the_same_wherever_it_is_cut(parts: list[str], places: list[int]) -> None:
    text = "".join(parts)
    ends = sorted({place % (len(text) + 1) for place in places})
    cut = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    (said, calls), (once, once_calls) = read(cut), read([text])
    assert ("".join(said.split()), calls) == ("".join(once.split()), once_calls)


@pytest.mark.parametrize("written", [*CALLS, *NO_CALLS, "save_answer", "<tool_call>{", '<tool_call>{"name": "save_ans'])
@pytest.mark.parametrize("together", [True, False])
async def test_beside_a_call_of_the_api_the_text_of_it_is_neither_said_nor_run_again(written: str, together: bool) -> None:
    call: dict[str, Any] = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "save_answer", "arguments": '{"q": 1}'}}]}
    deltas: list[dict[str, Any]] = (
        [{"content": written, **call}] if together else [*({"content": sign} for sign in written), call]
    )
    async with faulty_server() as server:
        server.stream_body = b"".join(chunk(delta) for delta in deltas)
        model = OpenAiEngine(OpenAiOptions(base_url=server.url))
        found = [piece async for piece in model.open("call").generate((Message("user", "Hello."),), TOOLS)]
        await model.close()
    assert [piece for piece in found if isinstance(piece, ToolCall)] == [ToolCall("a", "save_answer", '{"q": 1}')]
    assert "".join(piece.text for piece in found if isinstance(piece, GeneratedText)).strip() == ""
