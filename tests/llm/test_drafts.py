"""What is drafted and read in one step changes no word of any answer, right or wrong, and spares steps."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.llm.sessions import cache_of, session_of, tokens_of
from tests.llm.telling import telling
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.embedded.drafts import Drafts
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.jobs import KvCache
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.models.registry import resolve
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet

SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
TOOLS = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()
SAID = (
    "What time is it in Paris?",
    "What's the weather in London tomorrow?",
    "What is 12 plus 30?",
    "Book a table for four people on Friday at 7 PM.",
    "Where is my order 48213?",
    "How are you?",
    "What can you do?",
    "Thank you.",
)
WEATHER = ToolCall("c", "get_weather", '{"city": "Paris", "day": "tomorrow"}')
RESULT = Message("tool", '{"city": "Paris", "day": "tomorrow", "weather": "sunny", "temperature": 21}', tool_call_id="c")
TOLD = (SYSTEM, Message("user", "What's the weather in Paris tomorrow?"), Message("assistant", "", (WEATHER,)), RESULT)
PROMPTS = [*((SYSTEM, Message("user", said)) for said in SAID), TOLD, (*TOLD, Message("assistant", "It is sunny."), *TOLD[1:])]
TOKENS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return telling(resolve("micro-lm"), tmp_path_factory.mktemp("telling"))


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(folder)
    yield loaded
    await loaded.close()


@pytest.fixture
async def plain(folder: Path) -> AsyncIterator[EmbeddedEngine]:
    """Drafts nothing."""
    loaded = EmbeddedEngine(folder, EmbeddedOptions(draft_tokens=0))
    yield loaded
    await loaded.close()


async def tokens(engine: EmbeddedEngine, call_id: str, messages: Sequence[Message], count: int = TOKENS) -> list[int]:
    """Of the answer, its end included where it has one."""
    async with aclosing(tokens_of(session_of(engine, call_id), messages, TOOLS, count)) as stream:
        async for _ in stream:
            pass
    return cache_of(engine, call_id).ids[len(engine.prompt.ids(messages, TOOLS)) :]


def steps_of(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each step read, from now on."""
    assert engine.worker.steps is not None
    read, counted = engine.worker.steps.read, list[int]()

    def counting(cache: KvCache, known: list[int], draft: list[int]) -> None:
        counted.append(len(known) + len(draft))
        read(cache, known, draft)

    monkeypatch.setattr(engine.worker.steps, "read", counting)
    return counted


async def test_every_answer_is_the_same_with_drafts_and_takes_fewer_steps(
    engine: EmbeddedEngine, plain: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, single = steps_of(engine, monkeypatch), steps_of(plain, monkeypatch)
    for number, prompt in enumerate(PROMPTS):
        assert await tokens(engine, f"call {number % 3}", prompt) == await tokens(plain, f"call {number}", prompt), prompt[-1]
    assert len(steps) < 0.9 * len(single)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_drafted_the_answer_is_the_same(
    engine: EmbeddedEngine, plain: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    drawn = random.Random(seed)
    for number, prompt in enumerate(PROMPTS):
        wanted = await tokens(plain, f"call {number}", prompt)

        def draft(drafts: Drafts, written: list[int], longest: int, wanted: list[int] = wanted) -> list[int]:
            right = wanted[len(written) :][: drawn.randint(0, longest)]
            return [*right, *(drawn.randrange(2048) for _ in range(drawn.randint(0, longest)))][:longest]

        monkeypatch.setattr(Drafts, "next", draft)
        assert await tokens(engine, "call", prompt) == wanted, prompt[-1]


async def test_an_answer_whose_end_was_drafted_ends_there(
    engine: EmbeddedEngine, plain: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = await tokens(plain, "a", PROMPTS[0])
    assert wanted[-1] in engine.worker._stop_ids
    monkeypatch.setattr(Drafts, "next", lambda self, written, longest: [*wanted[len(written) :], 5, 6, 7, 8][:longest])
    assert await tokens(engine, "a", PROMPTS[0]) == wanted
    assert await tokens(engine, "a", PROMPTS[1]) == await tokens(plain, "b", PROMPTS[1]), "what was drafted behind it was left"


@pytest.mark.parametrize("count", [1, 2, 5, 6])
async def test_an_answer_fills_the_context_to_its_last_token(folder: Path, plain: EmbeddedEngine, count: int) -> None:
    wanted = await tokens(plain, "a", PROMPTS[0], count)
    room = len(plain.prompt.ids(PROMPTS[0], TOOLS)) + count
    engine = EmbeddedEngine(folder, EmbeddedOptions(context_tokens=room, max_tokens=count))
    try:
        for _ in range(2):
            assert await tokens(engine, "a", PROMPTS[0], count) == wanted
            assert len(cache_of(engine, "a").ids) == room
    finally:
        await engine.close()


async def test_a_cancelled_generation_leaves_nothing_that_was_drafted(engine: EmbeddedEngine, plain: EmbeddedEngine) -> None:
    for begun in range(1, 6):
        async with aclosing(tokens_of(session_of(engine, "a"), PROMPTS[1], TOOLS, TOKENS)) as stream:
            for _ in range(begun):
                await anext(stream)
        assert await tokens(engine, "a", PROMPTS[1]) == await tokens(plain, "fresh", PROMPTS[1])


async def test_words_read_ahead_change_no_answer(engine: EmbeddedEngine, plain: EmbeddedEngine) -> None:
    for said in ("What's", "What's the weather in London", "What's the weather in London tomorrow"):
        await session_of(engine, "a").prefill((SYSTEM, Message("user", said)), TOOLS)
    assert await tokens(engine, "a", PROMPTS[1]) == await tokens(plain, "a", PROMPTS[1])


async def test_a_model_that_tells_no_recent_logits_or_draws_its_words_drafts_nothing(folder: Path) -> None:
    for path, options in ((resolve("micro-lm"), EmbeddedOptions()), (folder, EmbeddedOptions(temperature=0.7))):
        engine = EmbeddedEngine(path, options)
        try:
            assert engine.worker.steps is None
            assert await tokens(engine, "a", PROMPTS[0])
        finally:
            await engine.close()


async def test_the_values_of_a_result_are_drafted_as_they_are_said(engine: EmbeddedEngine) -> None:
    drafts = Drafts(engine.prompt, engine.prompt.ids(TOLD, TOOLS), TOLD, None, [9, 2])
    written = engine.prompt.encode("It is")[0]
    assert engine.prompt.tokenizer.decode(drafts.next(written, 11)[:-2]).strip() == "Paris"
    said = engine.prompt.encode("It is Paris, tom")[0]
    assert drafts.next(said, 11)


@pytest.mark.parametrize("result", ["", "no JSON", "[" * 5000, '{"a": null, "b": [true, {}]}', str(list(range(13)))])
async def test_a_result_without_values_to_tell_is_none_to_draft_from(engine: EmbeddedEngine, result: str) -> None:
    told = (*TOLD[:-1], Message("tool", result, tool_call_id="c"))
    drafts = Drafts(engine.prompt, engine.prompt.ids(TOLD, TOOLS), told, None, [9, 2])
    assert drafts._values == []
    assert drafts.next([], 11) == []
