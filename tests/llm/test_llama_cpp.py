"""The engine for OpenAI-compatible servers on a real llama.cpp server with the starter's language model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import aiohttp
import pytest

from tests.llm.llama_cpp_server import CONTEXT_TOKENS, PYTHON, SLOTS, serving
from tests.real.models import published
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.engine import Generated, GeneratedText, TokenCount, ToolSchema, no_forcing
from voiceagent.llm.servers.abilities import try_out
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.llm.servers.recognition import KEY_VARIABLE, recognise
from voiceagent.llm.servers.server_load import gauge
from voiceagent.resources import bundled_models_dir

pytestmark = pytest.mark.skipif(not PYTHON, reason="LLAMA_CPP names no Python with llama.cpp; make test-llama-cpp does")

SYSTEM = Message(
    "system", "You are the front desk of the Hotel Aurora. Breakfast is from seven to ten. Answer in one or two short sentences."
)
BREAKFAST = Message("user", "When is breakfast?")
WEATHER = Message("user", "What's the weather in Paris tomorrow?")
STORY = Message("user", "Please tell me a long story about a lighthouse and a storm.")
RUNNING, WAITING = "llamacpp:requests_processing", "llamacpp:requests_deferred"


def weather_tool(*cities: str) -> ToolSchema:
    city = {"type": "string", "enum": list(cities)} if cities else {"type": "string"}
    day = {"type": "string", "enum": ["today", "tomorrow"]}
    parameters = {"type": "object", "properties": {"city": city, "day": day}, "required": ["city", "day"]}
    return {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": parameters}}


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    gguf = published("smollm2-135m-instruct-gguf") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    with serving(gguf, Path(bundled_models_dir() / "smollm2-tools"), tmp_path_factory.mktemp("llama")) as address:
        yield address


@pytest.fixture
async def engine(base_url: str) -> AsyncIterator[OpenAiEngine]:
    patient_s = 60.0
    options = OpenAiOptions(
        base_url=base_url, temperature=0.0, max_tokens=120, first_token_timeout_s=patient_s, inactivity_timeout_s=patient_s
    )
    model = OpenAiEngine(options)
    yield model
    await model.close()


async def generated(engine: OpenAiEngine, *messages: Message, tools: tuple[ToolSchema, ...] = ()) -> list[Generated]:
    async with aclosing(engine.open("call").generate((SYSTEM, *messages), tools)) as stream:
        return [piece async for piece in stream]


def text_of(pieces: list[Generated]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText))


def calls_of(pieces: list[Generated]) -> list[ToolCall]:
    return [piece for piece in pieces if isinstance(piece, ToolCall)]


async def test_the_server_is_known(engine: OpenAiEngine) -> None:
    await engine.replicas[0].probe()
    assert engine.replicas[0].server.name == "llama.cpp"


async def test_text_streams(engine: OpenAiEngine) -> None:
    pieces = await generated(engine, BREAKFAST)
    assert len(pieces) > 3
    assert "seven" in text_of(pieces)


async def test_a_tool_call_comes_whole_and_its_result_is_answered(engine: OpenAiEngine) -> None:
    (call,) = calls_of(await generated(engine, WEATHER, tools=(weather_tool(),)))
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})
    result = Message("tool", '{"city": "Paris", "day": "tomorrow", "sky": "rain", "degrees": 12}', tool_call_id=call.call_id)
    answer = text_of(await generated(engine, WEATHER, Message("assistant", "", (call,)), result, tools=(weather_tool(),)))
    assert "rain" in answer
    assert "12" in answer or "twelve" in answer


async def test_arguments_keep_to_the_schema(engine: OpenAiEngine) -> None:
    (call,) = calls_of(await generated(engine, WEATHER, tools=(weather_tool("Rome", "Oslo"),)))
    assert json.loads(call.arguments)["city"] in ("Rome", "Oslo")


async def test_the_tokens_are_counted(engine: OpenAiEngine) -> None:
    count = (await generated(engine, WEATHER, tools=(weather_tool(),)))[-1]
    assert isinstance(count, TokenCount)
    assert min(count.prompt, count.generated) > 5


async def test_a_forced_call_is_not_promised_because_words_may_come_before_it_without_end(engine: OpenAiEngine) -> None:
    await engine.replicas[0].probe()
    assert "llama.cpp" in no_forcing(engine)
    clock = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}
    async with aclosing(engine.open("call").generate((SYSTEM, BREAKFAST), (clock,), must_call="get_time")) as stream:
        pieces = [piece async for piece in stream]
    assert calls_of(pieces) == [], "it is forced now: promise it"


async def test_a_reply_that_nobody_hears_any_more_frees_its_slot(engine: OpenAiEngine, base_url: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(3 * SLOTS):
            async with aclosing(engine.open("call").generate((STORY,), ())) as stream:
                await anext(stream)
            async with asyncio.timeout(30):
                while await busy(session, base_url):
                    pass
    assert text_of(await generated(engine, BREAKFAST))


async def busy(session: aiohttp.ClientSession, base_url: str) -> bool:
    async with session.get(f"{base_url.removesuffix('/v1')}/metrics") as answer:
        text = await answer.text()
    running, waiting = gauge(text, RUNNING), gauge(text, WAITING)
    assert running is not None
    assert waiting is not None
    return running + waiting > 0


async def test_requests_that_wait_for_a_slot_are_load(engine: OpenAiEngine) -> None:
    callers = [asyncio.create_task(ask_on_and_on(engine, f"call {number}")) for number in range(SLOTS + 2)]
    async with asyncio.timeout(60):
        while engine.replicas[0].load < 1:
            done, _ = await asyncio.wait(callers, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
            assert not done
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)


async def ask_on_and_on(engine: OpenAiEngine, call_id: str) -> None:
    """One request after another: a single one may be over before the server's gauges are read."""
    while True:
        async with aclosing(engine.open(call_id).generate((STORY,), ())) as stream:
            async for _ in stream:
                pass


async def test_a_conversation_beyond_the_context_is_shortened_and_answered(engine: OpenAiEngine) -> None:
    history: list[Message] = []
    for number in range(CONTEXT_TOKENS // 40):
        history += [Message("user", f"Question {number}: " + "why " * 25), Message("assistant", "Because " * 15)]
    assert text_of(await generated(engine, *history, BREAKFAST))
    assert engine.problems["asked_again"] >= 1


async def test_what_the_server_is_and_cannot_do_is_found_out(base_url: str) -> None:
    found = await recognise(base_url.removesuffix("/v1"))
    assert (found.base_url, found.kind.name, found.longest_tokens) == (base_url, "llama.cpp", CONTEXT_TOKENS)
    tried = await try_out(found, KEY_VARIABLE, 120.0)
    assert tried.has_tools
    assert [limit.split(",")[0] for limit in tried.cannot] == [
        "cannot be made to call a tool",
        "cannot continue a caller's words",
    ]
