"""One call's prompts: tokenised a piece at a time to the same ids, and shortened rarely."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.loop_time import LIMIT_MS, loop_time
from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.call_prompt import CallPrompt
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.models.registry import resolve
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet

FORMAT = ChatPrompt(resolve("micro-lm"))
SYSTEM = Message("system", "You are a friendly voice assistant.")
TOOLS = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()
TEXTS = st.text(max_size=20) | st.sampled_from(["Hello.", "<|im_end|>", "What time is it in Paris?", "çé🙂 o'clock", "calculate"])


def common(one: list[int], other: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS), max_size=4), min_size=1, max_size=6))
def test_the_ids_are_those_of_the_whole_text(prompts: list[list[tuple[str, str]]]) -> None:
    prompt = CallPrompt(FORMAT, 100_000)
    for turns in prompts:
        messages = [SYSTEM, *(Message("user" if role == "user" else "assistant", text) for role, text in turns)]
        assert prompt.ids(messages, TOOLS) == FORMAT.ids(messages, TOOLS)


def turn(number: int) -> list[Message]:
    return [Message("user", f"What is {number} plus 30?"), Message("assistant", f"It is {number + 30}. Anything else?")]


def test_a_conversation_that_does_not_fit_is_shortened_in_few_steps() -> None:
    room = 600
    prompt = CallPrompt(FORMAT, room)
    history, before, shortened = [SYSTEM], list[int](), 0
    for number in range(100):
        asked = [*history, Message("user", f"What is {number} plus 30?")]
        ids = prompt.ids(asked, [])
        shortened += common(before, ids) < len(before) - 10
        assert len(ids) <= room
        history += turn(number)
        before = ids
    assert 1 < shortened <= 14
    text = FORMAT.tokenizer.decode(before, skip_special_tokens=True)
    assert text.startswith("system\nYou are a friendly")
    assert "99 plus" in text


def test_a_conversation_that_begins_anew_is_not_cut() -> None:
    prompt = CallPrompt(FORMAT, 300)
    prompt.ids([SYSTEM, *(message for number in range(60) for message in turn(number))], [])
    short = [SYSTEM, Message("user", "Hello.")]
    assert prompt.ids(short, []) == FORMAT.ids(short, [])


def test_a_turn_that_does_not_fit_loses_its_documents_before_it_fails() -> None:
    prompt = CallPrompt(FORMAT, 200)
    told = Message("user", "When is breakfast?", context=(Chunk("a", "word " * 400),))
    assert prompt.ids([SYSTEM, told], []) == FORMAT.ids([SYSTEM, Message("user", "When is breakfast?")], [])
    with pytest.raises(EngineError, match="does not fit"):
        prompt.ids([SYSTEM, Message("user", "word " * 500)], [])


def test_arguments_that_are_no_json_do_not_stop_the_conversation() -> None:
    for arguments in ("{", "[" * 10_000, '{"x": "\\ud83d"}'):
        asked = Message("assistant", "", (ToolCall("call_1", "get_time", arguments),))
        assert FORMAT.ids([SYSTEM, Message("user", "What time is it?"), asked], TOOLS)


LONG = [SYSTEM, *(message for number in range(150) for message in turn(number))]
"""300 messages."""


@pytest.mark.parametrize(
    ("room", "before", "now"),
    [
        (100_000, [], LONG),
        (100_000, LONG, [*LONG, Message("user", "Hello.")]),
        (100_000, [*LONG, Message("user", "Hello.")], [SYSTEM, *LONG[21:], Message("user", "Hello.")]),
        (100_000, LONG, [*LONG[:-20], Message("user", "Hello?"), *LONG[-19:]]),
        (100_000, LONG, [Message("system", "You are another."), *LONG[1:]]),
        (4_600, LONG, [*LONG, *turn(150), *turn(151), Message("user", "Hello.")]),
        (200_000, LONG * 5, [*LONG * 5, Message("user", "Hello.")]),
    ],
    ids=["all new", "one more", "the oldest gone", "one far back another", "other instructions", "to be shortened", "a day's"],
)
async def test_a_long_conversation_is_tokenised_off_the_event_loop(
    room: int, before: list[Message], now: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")  # or the time is that of a thread which the event loop's waits for
    longest_ms = []
    for _ in range(3):
        prompt = CallPrompt(FORMAT, room)
        prompt.ids(before, TOOLS)
        with loop_time() as time:
            ids = await asyncio.create_task(prompt.ids_soon(now, TOOLS))
        longest_ms.append(time.longest_ms)
    assert len(ids) <= room
    assert ids == FORMAT.ids(now, TOOLS) or room < len(FORMAT.ids(now, TOOLS))
    assert min(longest_ms) < LIMIT_MS
