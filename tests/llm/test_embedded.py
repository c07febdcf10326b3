"""The embedded engine on the bundled language model."""

from __future__ import annotations

import asyncio
import json
import shutil
import weakref
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from tests.llm.sessions import cache_of, session_of, tokens_of
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import EngineError, ModelError
from voiceagent.llm.chat.tool_constraint import ToolConstraint
from voiceagent.llm.embedded.embedded import BUSY_JOBS, EmbeddedEngine
from voiceagent.llm.embedded.jobs import WorkerConversation
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import GeneratedText, TokenCount, no_forcing
from voiceagent.models.registry import resolve
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet

SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
WEATHER = Message("user", "What's the weather in Paris tomorrow?")
TOOLS = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()


@pytest.fixture
async def engine() -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(resolve("micro-lm"), EmbeddedOptions(max_sessions=2))
    yield loaded
    await loaded.close()


async def answer(engine: EmbeddedEngine, call_id: str, *messages: Message) -> tuple[str, list[ToolCall]]:
    text, calls = "", []
    async with aclosing(session_of(engine, call_id).generate(messages, TOOLS)) as stream:
        async for piece in stream:
            if isinstance(piece, GeneratedText):
                text += piece.text
            elif isinstance(piece, ToolCall):
                calls.append(piece)
    return text, calls


async def test_a_request_becomes_a_tool_call_and_its_result_a_sentence(engine: EmbeddedEngine) -> None:
    _, (call,) = await answer(engine, "a", SYSTEM, WEATHER)
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})
    weather = '{"city": "Paris", "day": "tomorrow", "weather": "sunny", "temperature": 21}'
    result = Message("tool", weather, tool_call_id=call.call_id)
    text, calls = await answer(engine, "a", SYSTEM, WEATHER, Message("assistant", "", (call,)), result)
    assert not calls
    assert "sunny" in text
    assert "Paris" in text


@pytest.mark.parametrize("is_constrained", [True, False])
async def test_a_tool_is_called_when_it_must_be(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, is_constrained: bool
) -> None:
    if not is_constrained:
        monkeypatch.setattr(engine._model.constraints, "of", lambda tools: None)
    assert no_forcing(engine) == ""
    for message in ("Hello.", "What's the weather in Paris tomorrow?"):
        for must_call in ("get_time", "get_weather", ANY_TOOL):
            asked = session_of(engine, "a").generate((SYSTEM, Message("user", message)), TOOLS, must_call=must_call)
            async with aclosing(asked) as stream:
                pieces = [piece async for piece in stream]
            assert isinstance(pieces[0], ToolCall)
            assert pieces[0].name in ([tool["function"]["name"] for tool in TOOLS] if must_call == ANY_TOOL else [must_call])
            assert isinstance(json.loads(pieces[0].arguments), dict)
    assert (await answer(engine, "a", SYSTEM, WEATHER))[1][0].name == "get_weather"


async def test_tokens_are_counted_and_those_in_the_cache_too(engine: EmbeddedEngine) -> None:
    counts = []
    for _ in range(2):
        async with aclosing(session_of(engine, "a").generate((SYSTEM, WEATHER), TOOLS)) as stream:
            counts += [piece async for piece in stream if isinstance(piece, TokenCount)]
    first, again = counts
    assert first.prompt == again.prompt == len(engine.prompt.ids((SYSTEM, WEATHER), TOOLS))
    assert first.generated == again.generated > 10
    assert first.cached == 0
    assert again.cached is not None
    assert again.cached > 0.9 * first.prompt


async def test_the_cache_of_a_call_changes_no_answer(engine: EmbeddedEngine) -> None:
    history = [SYSTEM]
    for number, said in enumerate(("What is 12 plus 30?", "Where is order 48271?", "Thank you.")):
        history.append(Message("user", said))
        kept = await answer(engine, "kept", *history)
        fresh = await answer(engine, f"fresh {number}", *history)
        assert kept[0] == fresh[0]
        assert [(c.name, c.arguments) for c in kept[1]] == [(c.name, c.arguments) for c in fresh[1]]
        history.append(Message("assistant", kept[0], tuple(kept[1])))
        history += [Message("tool", '{"error": "Not now."}', tool_call_id=call.call_id) for call in kept[1]]


@pytest.mark.parametrize("partial", ["What's the weather in", "What's the weather in London tomorrow and"])
async def test_words_that_were_read_ahead_are_kept_as_far_as_they_stay(engine: EmbeddedEngine, partial: str) -> None:
    ahead = (SYSTEM, Message("user", partial))
    await session_of(engine, "ahead").prefill(ahead, TOOLS)
    read = engine.tokens_read
    assert read == len(session_of(engine, "ahead").prompt.ids(ahead, TOOLS))
    _, (call,) = await answer(engine, "ahead", SYSTEM, WEATHER)
    assert 0 < engine.tokens_read - read < 20
    _, (fresh,) = await answer(engine, "fresh", SYSTEM, WEATHER)
    assert (call.name, call.arguments) == (fresh.name, fresh.arguments)


async def test_a_busy_engine_reads_nothing_ahead(engine: EmbeddedEngine) -> None:
    streams = [session_of(engine, f"call {n}").generate((SYSTEM, WEATHER), TOOLS) for n in range(BUSY_JOBS)]
    asked = [asyncio.ensure_future(anext(stream)) for stream in streams]
    await asyncio.sleep(0)
    assert engine.load >= 1
    await session_of(engine, "ahead").prefill((SYSTEM, WEATHER), TOOLS)
    assert session_of(engine, "ahead").conversation.cache is None
    await asyncio.gather(*asked)
    for stream in streams:
        await stream.aclose()
    assert engine.load == 0


async def test_a_turn_is_a_prefix_of_the_next(engine: EmbeddedEngine) -> None:
    first = engine.prompt.ids([SYSTEM, WEATHER], TOOLS)
    call = ToolCall("c", "get_weather", '{"city": "Paris"}')
    called = [SYSTEM, WEATHER, Message("assistant", "", (call,)), Message("tool", "{}", tool_call_id="c")]
    second = engine.prompt.ids(called, TOOLS)
    third = engine.prompt.ids([SYSTEM, WEATHER, Message("assistant", "Hello."), WEATHER], TOOLS)
    assert second[: len(first)] == first
    assert third[: len(first)] == first


async def test_a_cancelled_generation_stops_and_the_next_is_answered(engine: EmbeddedEngine) -> None:
    async with aclosing(session_of(engine, "a").generate((SYSTEM, WEATHER), TOOLS)) as stream:
        async for _ in stream:
            break
    _, (call,) = await answer(engine, "a", SYSTEM, WEATHER)
    assert call.name == "get_weather"


async def test_an_answer_that_is_too_long_has_all_the_tokens_it_may_have() -> None:
    engine = EmbeddedEngine(resolve("micro-lm"), EmbeddedOptions(max_tokens=3))
    try:
        text, _ = await answer(engine, "a", SYSTEM, Message("user", "What can you do?"))
        prompt = engine.prompt.ids((SYSTEM, Message("user", "What can you do?")), TOOLS)
        made = cache_of(engine, "a").ids[len(prompt) :]
        assert len(made) == 3
        assert text == engine.prompt.tokenizer.decode(made)
    finally:
        await engine.close()


async def test_a_closed_session_holds_nothing(engine: EmbeddedEngine) -> None:
    generation = session_of(engine, "a").generate([SYSTEM, Message("user", "What can you do?")], TOOLS)
    await anext(generation)
    cache = weakref.ref(cache_of(engine, "a"))
    await session_of(engine, "a").close()
    assert cache() is None
    await generation.aclose()


async def test_closing_a_session_after_the_engine_returns(engine: EmbeddedEngine) -> None:
    await engine.close()
    await session_of(engine, "a").close()


async def test_a_session_generates_nothing_after_the_engine_has_closed(engine: EmbeddedEngine) -> None:
    session = session_of(engine, "a")
    await engine.close()
    async with asyncio.timeout(5):
        with pytest.raises(EngineError, match="the language model was shut down"):
            await session.prefill((SYSTEM, WEATHER), TOOLS)
        with pytest.raises(EngineError, match="the language model was shut down"):
            await session.ending_chance((SYSTEM, WEATHER), TOOLS)


async def test_calls_share_the_model_fairly(engine: EmbeddedEngine) -> None:
    answers = await asyncio.gather(*(answer(engine, f"call {n}", SYSTEM, WEATHER) for n in range(6)))
    assert {calls[0].name for _, calls in answers} == {"get_weather"}


async def test_a_conversation_too_long_for_the_context_loses_its_oldest_turns() -> None:
    engine = EmbeddedEngine(resolve("micro-lm"), EmbeddedOptions(context_tokens=400, max_tokens=60))
    try:
        talk = [m for _ in range(60) for m in (Message("user", "Hello."), Message("assistant", "Hello! How can I help you?"))]
        ids = session_of(engine, "long").prompt.ids([SYSTEM, *talk, WEATHER], TOOLS)
        assert len(ids) <= 340
        text = engine.prompt.tokenizer.decode(ids)
        assert "friendly voice assistant" in text
        assert "Paris" in text
        with pytest.raises(EngineError, match="does not fit"):
            session_of(engine, "long").prompt.ids([SYSTEM, Message("user", "word " * 500)], TOOLS)
    finally:
        await engine.close()


def test_a_corrupt_model_is_one_clear_line(tmp_path: Path) -> None:
    folder = tmp_path / "lm"
    shutil.copytree(resolve("micro-lm"), folder)
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        EmbeddedEngine(folder)
    assert "\n" not in str(caught.value)


async def test_a_session_that_was_closed_generates_nothing(engine: EmbeddedEngine) -> None:
    await answer(engine, "a", SYSTEM, WEATHER)
    await session_of(engine, "a").close()
    with pytest.raises(EngineError, match="the call has ended"):
        await answer(engine, "a", SYSTEM, WEATHER)
    assert not engine.worker.caching


async def test_the_longest_unused_cache_makes_room_and_its_call_reads_anew(engine: EmbeddedEngine) -> None:
    for name in ("a", "b", "c"):
        await answer(engine, name, SYSTEM, WEATHER)
    assert session_of(engine, "a").conversation.cache is None
    before = engine.tokens_read
    _, (call,) = await answer(engine, "a", SYSTEM, WEATHER)
    assert call.name == "get_weather"
    assert engine.tokens_read - before == len(engine.prompt.ids((SYSTEM, WEATHER), TOOLS))


async def test_an_engine_that_keeps_no_caches_answers_all_the_same() -> None:
    engine = EmbeddedEngine(resolve("micro-lm"), EmbeddedOptions(max_sessions=0))
    try:
        for name in ("a", "b", "a"):
            _, (call,) = await answer(engine, name, SYSTEM, WEATHER)
            assert call.name == "get_weather"
    finally:
        await engine.close()


def with_template(folder: Path, template: str) -> Path:
    """The bundled model with another family's chat template."""
    shutil.copytree(resolve("micro-lm") or Path(), folder / "lm")
    shutil.copy(Path(__file__).parent / "templates" / template, folder / "lm" / "chat_template.jinja")
    return folder / "lm"


async def test_a_model_whose_template_has_no_tools_talks_and_says_why_it_calls_none(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_template(tmp_path, "phi35.jinja"), EmbeddedOptions(max_tokens=5))
    try:
        assert "chat_template.jinja: this chat template has no place for tools" in engine.no_tools
        async with aclosing(session_of(engine, "a").generate((SYSTEM, WEATHER), [])) as stream:
            assert [piece async for piece in stream]
        with pytest.raises(EngineError, match="no place for tools"):
            await answer(engine, "b", SYSTEM, WEATHER)
    finally:
        await engine.close()


async def test_a_model_calls_in_the_form_of_its_template(tmp_path: Path) -> None:
    engine = EmbeddedEngine(with_template(tmp_path, "smollm2.jinja"))
    try:
        assert engine.no_tools == ""
        assert engine.prompt.form is not None
        assert engine.prompt.form.name == "hermes"
    finally:
        await engine.close()


class Forcing(ToolConstraint):
    """A constraint that forces the given tokens behind the first one of an answer, and leaves the rest free."""

    def __init__(self, tokens: list[int]) -> None:
        self._left = [tokens]
        self._began = False

    @property
    def inside(self) -> bool:
        return self._began and bool(self._left)

    def took(self, token: int) -> None:
        self._began = True

    def forced(self) -> list[int]:
        return self._left.pop()


async def test_what_is_forced_is_read_behind_the_token_before_it(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = [SYSTEM, WEATHER]
    tokens = [token async for token in tokens_of(session_of(engine, "a"), prompt, TOOLS, 40)]
    monkeypatch.setattr(engine._model.constraints, "of", lambda tools: Forcing(tokens[1:6]))
    async for _ in tokens_of(session_of(engine, "b"), prompt, TOOLS, 6):
        pass
    forced, fresh = cache_of(engine, "b"), engine.worker.cache(WorkerConversation())
    fresh.generator.append_tokens(forced.ids)
    np.testing.assert_allclose(forced.generator.get_logits(), fresh.generator.get_logits(), atol=0.01)
