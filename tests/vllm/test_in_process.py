"""vLLM in this process, with the bundled model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio

from bench.bundled.lm import demo_tools
from bench.vllm_server import BLOCK_TOKENS, CONTEXT_TOKENS, CPU_ENVIRONMENT
from tests.unmarked_process import output
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import Generated, GeneratedText, Lull, Urgency
from voiceagent.llm.servers.vllm import VllmEngine, VllmOptions
from voiceagent.resources import bundled_models_dir

pytestmark = pytest.mark.asyncio(loop_scope="module")
SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
WEATHER = Message("user", "What's the weather in Paris tomorrow?")
OPTIONS = VllmOptions(
    context_tokens=CONTEXT_TOKENS,
    dtype="float32",
    busy_generations=4,
    engine={"enforce_eager": True, "block_size": BLOCK_TOKENS},
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inside() -> AsyncIterator[VllmEngine]:
    os.environ.update(CPU_ENVIRONMENT)
    engine = await asyncio.to_thread(VllmEngine, bundled_models_dir() / "lm" / "safetensors", OPTIONS)
    yield engine
    await engine.close()


async def generated(engine: VllmEngine, *messages: Message, urgency: Urgency = Urgency.REPLY) -> list[Generated]:
    async with aclosing(engine.open("call").generate((SYSTEM, *messages), demo_tools(), urgency)) as stream:
        return [piece async for piece in stream if not isinstance(piece, Lull)]


async def test_nothing_is_reported_to_its_maker() -> None:
    asks = "import voiceagent; from vllm.usage.usage_lib import is_usage_stats_enabled; print(is_usage_stats_enabled())"
    assert (await asyncio.to_thread(output, asks)).splitlines()[-1] == "False"


async def test_text_streams(inside: VllmEngine) -> None:
    pieces = await generated(inside, Message("user", "What can you do?"))
    texts = [piece.text for piece in pieces if isinstance(piece, GeneratedText)]
    assert len(texts) == len(pieces) > 5
    assert "weather" in "".join(texts)


async def test_a_tool_call_comes_whole(inside: VllmEngine) -> None:
    (call,) = await generated(inside, WEATHER)
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})


async def test_arguments_keep_to_the_schema(inside: VllmEngine) -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"enum": ["Rome", "Oslo"]}, "day": {"type": "string"}},
        "required": ["city"],
    }
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    async with aclosing(inside.open("strict").generate((SYSTEM, WEATHER), [tool])) as stream:
        (call,) = [piece async for piece in stream if not isinstance(piece, Lull)]
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments)["city"] in ("Rome", "Oslo")


async def test_a_closed_reply_is_aborted(inside: VllmEngine) -> None:
    streams = [inside.open(f"call {n}").generate([SYSTEM, Message("user", "What can you do?")], demo_tools()) for n in range(4)]
    for stream in streams:
        await anext(stream)
    assert inside.load >= 1
    for stream in streams:
        await stream.aclose()
    assert inside.load == 0
    assert inside._engine.get_num_unfinished_requests() == 0


async def test_what_was_read_ahead_is_not_read_again(inside: VllmEngine) -> None:
    system = Message("system", " ".join(f"Rule {number} is to be brief." for number in range(100)))
    await inside.open("ahead").prefill([system, Message("user", "What can you")], [])
    queries, hits = inside.gauges.prefix_queries, inside.gauges.prefix_hits
    async with aclosing(inside.open("ahead").generate([system, Message("user", "What can you do?")], [])) as stream:
        async for _ in stream:
            pass
    missed = (inside.gauges.prefix_queries - queries) - (inside.gauges.prefix_hits - hits)
    assert 0 < missed < 2 * BLOCK_TOKENS


async def test_its_memory_is_known(inside: VllmEngine) -> None:
    capacity = await inside.kv_capacity()
    assert capacity is not None
    assert capacity.longest_tokens == CONTEXT_TOKENS
    assert capacity.tokens > 10 * CONTEXT_TOKENS


async def test_a_turn_that_cannot_fit_is_one_clear_line(inside: VllmEngine) -> None:
    with pytest.raises(EngineError, match="does not fit into the context"):
        await generated(inside, Message("user", "much " * CONTEXT_TOKENS))


async def test_it_tells_how_likely_the_caller_has_finished(inside: VllmEngine) -> None:
    words = ("Where is order 48271", "Where is", "What's the weather in Paris tomorrow")
    told = [await inside.open("call").ending_chance((SYSTEM, Message("user", one)), demo_tools()) for one in words]
    embedded = EmbeddedEngine(bundled_models_dir() / "lm" / "onnx")
    try:
        for one, chance in zip(words, told, strict=True):
            messages = (SYSTEM, Message("user", one))
            session = embedded.open("call")
            await session.prefill(messages, demo_tools())
            assert chance == pytest.approx(await session.ending_chance(messages, demo_tools()), abs=0.05)
    finally:
        await embedded.close()
    assert inside.load == 0
