"""A real language model, the starter's in Hugging Face's format, through vLLM in this process and through its server: where
answers end, answers that nobody hears any more, what is not read again, and calls of tools."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import jsonschema
import pytest
import pytest_asyncio

from bench.vllm_server import BLOCK_TOKENS, CPU_ENVIRONMENT, VllmServer, serving
from tests.real.models import published
from tests.vllm.watch import HITS, QUERIES, RUNNING, Watch
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.engine import Generated, GeneratedText, Lull, ToolSchema
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.llm.servers.vllm import VllmEngine, VllmOptions

pytestmark = pytest.mark.asyncio(loop_scope="module")
MODEL = "smollm2-135m-tools-safetensors"
CONTEXT_TOKENS = 2048
SYSTEM = Message(
    "system", "You are the front desk of the Hotel Aurora. Breakfast is from seven to ten. Answer in one or two short sentences."
)
BREAKFAST = Message("user", "When is breakfast?")
LIGHT = Message("user", "Please turn on the light in the kitchen.")
SET_LIGHT: ToolSchema = {
    "type": "function",
    "function": {
        "name": "set_light",
        "description": "Switch the light of a room on or off.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"enum": ["kitchen", "bedroom"]}, "state": {"enum": ["on", "off"]}},
            "required": ["room", "state"],
        },
    },
}
ROOMS = Message("user", "How many rooms are free on Friday?")
FREE_ROOMS: ToolSchema = {
    "type": "function",
    "function": {
        "name": "free_rooms",
        "description": "How many rooms are free on a date.",
        "parameters": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
    },
}
Engine = VllmEngine | OpenAiEngine


@pytest.fixture(scope="module")
def folder() -> Path:
    return published(MODEL)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inside(folder: Path) -> AsyncIterator[VllmEngine]:
    os.environ.update(CPU_ENVIRONMENT)
    eager: dict[str, object] = {"enforce_eager": True, "block_size": BLOCK_TOKENS}
    options = VllmOptions(context_tokens=CONTEXT_TOKENS, dtype="float32", engine=eager)
    engine = await asyncio.to_thread(VllmEngine, folder, options)
    yield engine
    await engine.close()


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    log = tmp_path_factory.mktemp("real") / "vllm.log"
    with serving(log, "--max-model-len", str(CONTEXT_TOKENS), model=folder) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def beside(server: VllmServer) -> AsyncIterator[OpenAiEngine]:
    engine = OpenAiEngine(OpenAiOptions(base_url=server.base_url))
    yield engine
    await engine.close()


@pytest_asyncio.fixture(loop_scope="module")
async def real_watch(server: VllmServer) -> AsyncIterator[Watch]:
    watching = Watch(server)
    yield watching
    await watching.close()


async def generated(engine: Engine, messages: tuple[Message, ...], tools: list[ToolSchema]) -> list[Generated]:
    async with aclosing(engine.open("call").generate(messages, tools)) as stream:
        return [piece async for piece in stream if not isinstance(piece, Lull)]


def text_of(pieces: list[Generated]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText))


async def ends_by_itself(engine: Engine) -> str:
    said = text_of(await generated(engine, (SYSTEM, BREAKFAST), []))
    assert "<|" not in said, "a control token is said"
    assert "seven" in said or "7" in said
    assert len(said) < 200, "it talks on behind its end"
    return said


async def calls_the_tool(engine: Engine, asked: Message, tool: ToolSchema, result: str) -> None:
    call = next(piece for piece in await generated(engine, (SYSTEM, asked), [tool]) if isinstance(piece, ToolCall))
    assert call.name == tool["function"]["name"]
    jsonschema.validate(json.loads(call.arguments), tool["function"]["parameters"])
    done = Message("tool", result, tool_call_id=call.call_id)
    assert text_of(await generated(engine, (SYSTEM, asked, Message("assistant", "", (call,)), done), [tool])).strip()


async def test_an_answer_in_this_process_ends_where_the_model_ends_it(inside: VllmEngine) -> None:
    await ends_by_itself(inside)


async def test_a_tool_is_called_in_this_process_and_its_result_answered(inside: VllmEngine) -> None:
    await calls_the_tool(inside, LIGHT, SET_LIGHT, '{"light": "on"}')
    await calls_the_tool(inside, ROOMS, FREE_ROOMS, '{"date": "Friday", "free": 3}')


async def test_an_answer_that_is_closed_in_this_process_is_aborted(inside: VllmEngine) -> None:
    for _ in range(3):
        stream = inside.open("closed").generate((SYSTEM, BREAKFAST), [])
        await anext(stream)
        await stream.aclose()
        assert inside.load == 0
        assert inside._engine.get_num_unfinished_requests() == 0
    await ends_by_itself(inside)


async def test_a_turn_is_not_read_again_for_the_next_in_this_process(inside: VllmEngine) -> None:
    said = await ends_by_itself(inside)
    queries, hits = inside.gauges.prefix_queries, inside.gauges.prefix_hits
    assert text_of(await generated(inside, (SYSTEM, BREAKFAST, Message("assistant", said), Message("user", "Thank you.")), []))
    missed = (inside.gauges.prefix_queries - queries) - (inside.gauges.prefix_hits - hits)
    assert 0 < missed < 2 * BLOCK_TOKENS


async def test_an_answer_of_the_server_ends_where_the_model_ends_it(beside: OpenAiEngine) -> None:
    await ends_by_itself(beside)


async def test_a_tool_is_called_by_the_server_and_its_result_answered(beside: OpenAiEngine) -> None:
    await calls_the_tool(beside, ROOMS, FREE_ROOMS, '{"date": "Friday", "free": 3}')


async def test_an_answer_of_the_server_that_is_closed_is_aborted(beside: OpenAiEngine, real_watch: Watch) -> None:
    talkative = OpenAiEngine(OpenAiOptions(base_url=beside.options.base_url, max_tokens=1000, request={"ignore_eos": True}))
    stream = talkative.open("closed").generate((SYSTEM, BREAKFAST), [])
    await anext(stream)
    await real_watch.until(lambda m: m[RUNNING] == 1)
    await stream.aclose()
    await real_watch.until_idle()
    await talkative.close()
    await ends_by_itself(beside)


async def test_a_turn_is_not_read_again_for_the_next_by_the_server(beside: OpenAiEngine, real_watch: Watch) -> None:
    said = await ends_by_itself(beside)
    before = await real_watch.metrics()
    assert text_of(await generated(beside, (SYSTEM, BREAKFAST, Message("assistant", said), Message("user", "Thank you.")), []))
    after = await real_watch.metrics()
    assert (after[QUERIES] - before[QUERIES]) - (after[HITS] - before[HITS]) < 2 * BLOCK_TOKENS
