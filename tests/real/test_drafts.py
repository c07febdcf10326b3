"""What the starter's language model reads at once comes out as what it reads bit by bit: no draft changes a word."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from tests.llm.sessions import cache_of, session_of, tokens_of
from tests.real.models import published
from tests.real.test_language_model import MODEL, ODD, SYSTEM, tool
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.genai import RECENT
from voiceagent.llm.embedded.jobs import Job
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import ToolSchema
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet

pytestmark = pytest.mark.asyncio(loop_scope="module")
DEMO = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()
SAID = (
    "What time is it in Paris?",
    "What's the weather in London tomorrow?",
    "What is 12 plus 30?",
    "Set a timer for 10 minutes.",
    "Book a table for four people on Friday at 7 PM.",
    "How are you?",
    "Cancel my table.",
    "My order is 48213, where is it?",
)
RESULTS = {
    "get_time": '{"time": "11:48 AM", "city": "Paris"}',
    "get_weather": '{"city": "London", "day": "tomorrow", "weather": "foggy", "temperature": 23}',
    "calculate": '{"expression": "12 plus 30", "result": 42}',
}
TOKENS = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines() -> AsyncIterator[tuple[EmbeddedEngine, EmbeddedEngine]]:
    """One that drafts, on two threads, and one that does not, on one."""
    folder = published(MODEL)
    found = EmbeddedEngine(folder, EmbeddedOptions(threads=2)), EmbeddedEngine(folder, EmbeddedOptions(draft_tokens=0))
    assert found[0].worker.steps is not None
    yield found
    for engine in found:
        await engine.close()


async def tokens(
    engine: EmbeddedEngine, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], count: int = TOKENS
) -> list[int]:
    async with aclosing(tokens_of(session_of(engine, call_id), messages, tools, count)) as stream:
        async for _ in stream:
            pass
    return cache_of(engine, call_id).ids[len(engine.prompt.ids(messages, tools)) :]


async def test_a_conversation_is_the_same_with_drafts_and_without(engines: tuple[EmbeddedEngine, EmbeddedEngine]) -> None:
    history: list[Message] = [SYSTEM]
    for said in SAID:
        history.append(Message("user", said))
        made = await both(engines, "talk", history, DEMO)
        call = call_in(engines[0], made, history)
        if call is not None:
            history += [
                Message("assistant", "", (call,)),
                Message("tool", RESULTS.get(call.name, '{"ok": true}'), tool_call_id="c"),
            ]
            made = await both(engines, "talk", history, DEMO)
        history.append(Message("assistant", engines[0].prompt.tokenizer.decode(made)))


@pytest.mark.parametrize("odd", ODD)
async def test_a_call_is_the_same_whatever_the_schema(engines: tuple[EmbeddedEngine, EmbeddedEngine], odd: str) -> None:
    parameters, said = ODD[odd]
    tools = [tool("do_it", "Do what the guest wants.", parameters), tool("get_menu", "What there is to eat.", {"type": "object"})]
    await both(engines, odd, [SYSTEM, Message("user", said)], tools)


async def test_an_answer_cut_at_its_length_is_over_when_its_end_is_told(
    engines: tuple[EmbeddedEngine, EmbeddedEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache holds no token beyond it any more, though a grammar forces several at once."""
    give, held = Job.give, list[int]()

    def watching(job: Job, token: int | EngineError | None) -> None:
        if token is None and job.cache is not None:
            held.append(len(job.cache.ids) - len(job.ids))
        give(job, token)

    monkeypatch.setattr(Job, "give", watching)
    counts = range(1, 25)
    for engine in engines:
        for count in counts:
            await tokens(engine, "cut", [SYSTEM, Message("user", SAID[1])], DEMO, count)
    assert held == [*counts, *counts]


async def test_a_token_comes_out_the_same_whatever_is_read_with_it(engines: tuple[EmbeddedEngine, EmbeddedEngine]) -> None:
    """Exactly: else a draft, or words read ahead, could tip a close choice."""
    ids = engines[0].prompt.ids([SYSTEM, Message("user", SAID[1])], DEMO)
    at_once = logits_of(engines[0], [ids])
    for pieces in ([ids[:100], ids[100:]], [ids[:-7], ids[-7:]], [ids[:-7], ids[-7:-3], ids[-3:]]):
        np.testing.assert_array_equal(logits_of(engines[0], pieces), at_once)
        np.testing.assert_array_equal(logits_of(engines[1], pieces), at_once)


def logits_of(engine: EmbeddedEngine, pieces: list[list[int]]) -> Any:
    generator = engine.worker.generator()
    for piece in pieces:
        generator.append_tokens(piece)
    return generator.get_output(RECENT)[0, -1]


async def both(
    engines: tuple[EmbeddedEngine, EmbeddedEngine], call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> list[int]:
    """What both engines generate."""
    drafting, plain = [await tokens(engine, call_id, messages, tools) for engine in engines]
    assert drafting == plain, messages[-1]
    return drafting


def call_in(engine: EmbeddedEngine, made: list[int], messages: Sequence[Message]) -> ToolCall | None:
    reader = engine.prompt.answer(messages, DEMO)
    pieces = (*reader.feed(engine.prompt.tokenizer.decode(made)), *reader.finish())
    return next((ToolCall("c", piece.name, piece.arguments) for piece in pieces if isinstance(piece, ToolCall)), None)
