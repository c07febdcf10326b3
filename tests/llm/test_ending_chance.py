"""How likely a language model finds it that the caller has finished, asked in the middle of a call: with the bundled model, which
knows the demo's sentences only, and is asked about those. What a model that knows a language makes of it stands in tests/real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.llm.sessions import session_of
from tests.llm.telling import telling
from tests.llm.test_embedded import SYSTEM, TOOLS, WEATHER, answer
from voiceagent.conversation.history import Chunk, Message
from voiceagent.llm.embedded.embedded import BUSY_JOBS, EmbeddedEngine
from voiceagent.llm.embedded.worker import PREFILL_TOKENS, EmbeddedOptions
from voiceagent.llm.endings import ends_turn, told_share
from voiceagent.llm.engine import GeneratedText, TokenCount
from voiceagent.models.registry import resolve

ASKED = Message("user", "What can you do?")
BARE = Message("user", "What's the weather in Paris tomorrow")
HALF = Message("user", "What's the weather in")


@pytest.fixture(scope="module")
def drafting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return telling(resolve("micro-lm"), tmp_path_factory.mktemp("telling"))


@pytest.fixture(params=["token by token", "drafting"])
async def engine(request: pytest.FixtureRequest, drafting: Path) -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(drafting if request.param == "drafting" else resolve("micro-lm"), EmbeddedOptions())
    assert (loaded.worker.steps is not None) is (request.param == "drafting")
    yield loaded
    await loaded.close()


async def chance(engine: EmbeddedEngine, *messages: Message, call_id: str = "a") -> float:
    """Of messages that were read ahead, as a call's are."""
    await session_of(engine, call_id).prefill(messages, TOOLS)
    found = await session_of(engine, call_id).ending_chance(messages, TOOLS)
    assert found is not None
    return found


async def test_it_is_a_chance_and_depends_on_the_words(engine: EmbeddedEngine) -> None:
    chances = [await chance(engine, SYSTEM, Message("user", words)) for words in ("Where is order 48271", "Where is", "Can you")]
    assert all(0 <= one <= 1 for one in chances)
    assert len(set(chances)) == len(chances)


async def test_it_is_the_same_chance_whatever_the_cache_holds(engine: EmbeddedEngine) -> None:
    fresh = await chance(engine, SYSTEM, BARE, call_id="fresh")
    await answer(engine, "a", SYSTEM, WEATHER)
    assert await chance(engine, SYSTEM, BARE) == pytest.approx(fresh, abs=1e-3)


async def test_what_was_read_ahead_is_not_read_again(engine: EmbeddedEngine) -> None:
    await session_of(engine, "a").prefill((SYSTEM, BARE), TOOLS)
    read = engine.tokens_read
    assert await session_of(engine, "a").ending_chance((SYSTEM, BARE), TOOLS) is not None
    assert 1 <= engine.tokens_read - read <= 2
    await answer(engine, "a", SYSTEM, WEATHER)
    assert engine.tokens_read - read < 10


async def test_a_reply_is_the_same_after_it(engine: EmbeddedEngine) -> None:
    wanted, (call,) = await answer(engine, "undisturbed", SYSTEM, WEATHER)
    await chance(engine, SYSTEM, BARE)
    text, (again,) = await answer(engine, "a", SYSTEM, WEATHER)
    assert (text, again.arguments) == (wanted, call.arguments)


async def test_a_reply_under_way_goes_on_as_if_it_had_not_been_asked(engine: EmbeddedEngine) -> None:
    wanted, _ = await answer(engine, "undisturbed", SYSTEM, ASKED)
    text, asked = "", 0
    async with aclosing(session_of(engine, "a").generate((SYSTEM, ASKED), TOOLS)) as stream:
        async for piece in stream:
            if isinstance(piece, TokenCount):
                break
            assert isinstance(piece, GeneratedText)
            text += piece.text
            if asked < 3:
                asked += 1
                assert (
                    await session_of(engine, "a").ending_chance((SYSTEM, Message("user", "What can you do")), TOOLS) is not None
                )
    assert (text, asked) == (wanted, 3)


async def test_a_tool_call_under_way_stays_whole(engine: EmbeddedEngine) -> None:
    async def ask() -> None:
        while not done.is_set():
            await session_of(engine, "a").ending_chance((SYSTEM, BARE), TOOLS)

    _, (wanted,) = await answer(engine, "undisturbed", SYSTEM, WEATHER)
    done = asyncio.Event()
    asking = asyncio.create_task(ask())
    _, (call,) = await answer(engine, "a", SYSTEM, WEATHER)
    done.set()
    await asking
    assert (call.name, call.arguments) == (wanted.name, wanted.arguments)


async def test_words_behind_documents_are_judged_too(engine: EmbeddedEngine) -> None:
    told = (Chunk("menu", "The soup is made of beans."),)
    assert await chance(engine, SYSTEM, Message("user", BARE.content, context=told)) > 0


async def test_words_that_the_template_repeats_are_not_mistaken_for_it(engine: EmbeddedEngine) -> None:
    prompt = session_of(engine, "a").prompt
    for words in ("assistant", "user", "<|im_end|>", "\n"):
        message = Message("user", words)
        whole, opened = engine.prompt.text((SYSTEM, message), TOOLS), engine.prompt.open_text((SYSTEM, message), TOOLS)
        assert whole.startswith(opened)
        assert opened.endswith(words)
        assert prompt.open_ids((SYSTEM, message), TOOLS) == engine.prompt.encode(opened)[0]


async def test_nothing_is_told_where_much_would_have_to_be_read(engine: EmbeddedEngine) -> None:
    assert await session_of(engine, "never read").ending_chance((SYSTEM, BARE), TOOLS) is None
    await chance(engine, SYSTEM, BARE)
    long = Message("user", "What is 1 plus 1 " * PREFILL_TOKENS)
    read = engine.tokens_read
    assert await session_of(engine, "a").ending_chance((SYSTEM, Message("user", long.content[:2000])), TOOLS) is None
    assert engine.tokens_read == read


async def test_a_busy_engine_answers_callers_first(engine: EmbeddedEngine) -> None:
    await session_of(engine, "a").prefill((SYSTEM, BARE), TOOLS)
    streams = [session_of(engine, f"call {n}").generate((SYSTEM, WEATHER), TOOLS) for n in range(BUSY_JOBS)]
    asked = [asyncio.ensure_future(anext(stream)) for stream in streams]
    await asyncio.sleep(0)
    assert await session_of(engine, "a").ending_chance((SYSTEM, BARE), TOOLS) is None
    await asyncio.gather(*asked)
    for stream in streams:
        await stream.aclose()
    assert engine.load == 0


async def test_who_no_longer_wants_to_know_costs_nothing(engine: EmbeddedEngine) -> None:
    await session_of(engine, "a").prefill((SYSTEM, BARE), TOOLS)
    read = engine.tokens_read
    asked = asyncio.ensure_future(session_of(engine, "a").ending_chance((SYSTEM, BARE), TOOLS))
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert engine.load == 0
    _, (call,) = await answer(engine, "a", SYSTEM, WEATHER)
    assert call.name == "get_weather"
    assert engine.tokens_read - read < 10


async def test_a_call_that_ends_meanwhile_leaves_nobody_waiting(engine: EmbeddedEngine) -> None:
    await session_of(engine, "a").prefill((SYSTEM, BARE), TOOLS)
    asked = asyncio.ensure_future(session_of(engine, "a").ending_chance((SYSTEM, BARE), TOOLS))
    await session_of(engine, "a").close()
    done = await asyncio.wait_for(asyncio.gather(asked, return_exceptions=True), 2)
    assert len(done) == 1
    assert session_of(engine, "a").conversation.cache is None


@pytest.mark.parametrize("text", [".", " ?", "!\n", "\n", "。", "？", "।", "؟", "۔", "…", '."', "...", " \n\n"])
def test_marks_that_end_sentences_in_any_script_end_a_turn(text: str) -> None:
    assert ends_turn(text)


@pytest.mark.parametrize("text", ["", " ", ",", " and", ".com", ".5", "、", "-", "a.", "\t"])
def test_other_tokens_do_not(text: str) -> None:
    assert not ends_turn(text)


def test_a_servers_likeliest_tokens_are_added_up() -> None:
    told = [(".", -1.0), (" and", -1.0), ("<|im_end|>", -2.0), ("", -3.0), ("?", -4.0)]
    assert told_share(told) == pytest.approx(0.3679 + 0.1353 + 0.0498 + 0.0183, abs=1e-3)
