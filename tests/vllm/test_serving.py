"""Text, tool calls and prompts through a real vLLM server, with the bundled model."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import aiohttp
import pytest

from bench.bundled.lm import demo_tools
from bench.vllm_server import MODEL, VllmServer
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import Generated, GeneratedText, Lull, TokenCount
from voiceagent.llm.servers.chat_wire import wire_message
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.resources import bundled_models_dir

SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
WEATHER = Message("user", "What's the weather in Paris tomorrow?")


async def generated(engine: OpenAiEngine, *messages: Message) -> list[Generated]:
    async with aclosing(engine.open("call").generate((SYSTEM, *messages), demo_tools())) as stream:
        return [piece async for piece in stream if not isinstance(piece, Lull | TokenCount)]  # a busy machine makes pauses


async def test_text_streams(engine: OpenAiEngine) -> None:
    pieces = await generated(engine, Message("user", "What can you do?"))
    texts = [piece.text for piece in pieces if isinstance(piece, GeneratedText)]
    assert len(texts) == len(pieces) > 5
    assert "weather" in "".join(texts)


async def test_a_tool_call_comes_whole_and_its_result_is_answered(engine: OpenAiEngine) -> None:
    (call,) = await generated(engine, WEATHER)
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})
    result = Message("tool", '{"city": "Paris", "day": "tomorrow", "sky": "rain", "degrees": 12}', tool_call_id=call.call_id)
    answer = await generated(engine, WEATHER, Message("assistant", "", (call,)), result)
    assert "Paris" in "".join(piece.text for piece in answer if isinstance(piece, GeneratedText))


async def test_a_tool_without_arguments_is_called_with_none(engine: OpenAiEngine) -> None:
    (call,) = await generated(engine, Message("user", "What's the date today?"))
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("get_date", {})


async def test_the_server_reads_the_very_tokens_that_the_embedded_engine_reads(vllm_server: VllmServer) -> None:
    ours = ChatPrompt(Path(bundled_models_dir() / "lm" / "onnx")).ids((SYSTEM, WEATHER), demo_tools())
    body = {"model": MODEL, "messages": [wire_message(m) for m in (SYSTEM, WEATHER)], "tools": demo_tools()}
    async with aiohttp.ClientSession() as session, session.post(f"{vllm_server.root}/tokenize", json=body) as answer:
        assert (await answer.json())["tokens"] == ours


async def test_arguments_keep_to_the_schema(engine: OpenAiEngine) -> None:
    cities = {"city": {"enum": ["Rome", "Oslo"]}, "day": {"type": "string"}}
    parameters = {"type": "object", "properties": cities, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    async with aclosing(engine.open("strict").generate((SYSTEM, WEATHER), [tool])) as stream:
        (call,) = [piece async for piece in stream if not isinstance(piece, Lull | TokenCount)]
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments)["city"] in ("Rome", "Oslo")


async def test_a_conversation_beyond_the_context_is_shortened_and_answered(engine: OpenAiEngine) -> None:
    history: list[Message] = []
    for number in range(60):
        history += [Message("user", f"Question {number}: " + "why " * 50), Message("assistant", "Because " * 20)]
    pieces = await generated(engine, *history, WEATHER)
    assert pieces
    assert engine.problems["asked_again"] >= 1


async def test_a_model_that_is_not_served_is_one_clear_line(vllm_server: VllmServer) -> None:
    stranger = OpenAiEngine(OpenAiOptions(base_url=vllm_server.base_url, served_model="other"))
    with pytest.raises(EngineError, match=f"no model 'other', it has {MODEL}"):
        await generated(stranger, WEATHER)
    await stranger.close()


async def test_the_server_tells_how_likely_the_caller_has_finished(engine: OpenAiEngine) -> None:
    engine.servers.ending_timeout_s = 30.0  # this may be the server's first request, on a busy machine
    words = ("Where is order 48271", "Where is", "What's the weather in Paris tomorrow")
    told = [await once_it_is_free(engine, one) for one in words]
    assert told == pytest.approx([await by_the_embedded_engine(one) for one in words], abs=0.05)
    assert max(told) > 0.3


async def once_it_is_free(engine: OpenAiEngine, words: str) -> float:
    """The server's answer. A busy server gives none."""
    while True:
        chance = await engine.open("call").ending_chance((SYSTEM, Message("user", words)), demo_tools())
        if chance is not None:
            return chance
        await asyncio.sleep(0.1)


async def by_the_embedded_engine(words: str) -> float | None:
    """The same model's, from all of its tokens."""
    embedded = EmbeddedEngine(bundled_models_dir() / "lm" / "onnx")
    try:
        session = embedded.open("call")
        await session.prefill((SYSTEM, Message("user", words)), demo_tools())
        return await session.ending_chance((SYSTEM, Message("user", words)), demo_tools())
    finally:
        await embedded.close()
