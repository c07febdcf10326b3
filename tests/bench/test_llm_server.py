"""The benchmark's language model server as its clients see it: the official `openai` client, and our own engine."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionToolParam, ChatCompletionUserMessageParam

from bench.llm_server import MODEL, Slots, listening, read_messages
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import ProtocolError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import GeneratedText, ToolSchema
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.resources import bundled_models_dir, demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet

SMALL_TALK: ChatCompletionUserMessageParam = {"role": "user", "content": "What can you do?"}
ASKING: ChatCompletionUserMessageParam = {"role": "user", "content": "What time is it in Paris?"}


@dataclass
class Served:
    """The server's address and its log."""

    url: str
    log: io.StringIO

    def outcomes(self) -> list[str]:
        return [json.loads(line)["outcome"] for line in self.log.getvalue().splitlines()]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    log = io.StringIO()
    async with listening(log) as url:
        yield Served(url, log)


@pytest.fixture
async def client(served: Served) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
async def bundled() -> AsyncIterator[EmbeddedEngine]:
    engine = EmbeddedEngine(bundled_models_dir() / "lm" / "onnx")
    yield engine
    await engine.close()


def tools() -> list[ToolSchema]:
    agent = load_agent(demo_agent_file())
    return ToolSet.from_config(agent.tools, agent.base_dir).schemas()


def client_tools() -> list[ChatCompletionToolParam]:
    return cast("list[ChatCompletionToolParam]", tools())  # plain objects that have the API's shape


async def test_text_streams_in_pieces(client: AsyncOpenAI, served: Served) -> None:
    assert [model.id async for model in client.models.list()] == [MODEL]
    stream = await client.chat.completions.create(model=MODEL, messages=[SMALL_TALK], tools=client_tools(), stream=True)
    chunks = [chunk async for chunk in stream]
    words = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
    assert len(words) > 5
    assert "".join(words).rstrip().endswith((".", "?", "!"))
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert served.outcomes() == ["finished"]


async def test_a_tool_call_comes_whole(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model=MODEL, messages=[ASKING], tools=client_tools(), stream=True)
    chunks = [chunk async for chunk in stream]
    (call,) = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert call.function is not None
    assert call.function.name == "get_time"
    assert json.loads(call.function.arguments or "") == {"city": "Paris"}
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_a_client_that_leaves_stops_the_generation(client: AsyncOpenAI, served: Served) -> None:
    stream = await client.chat.completions.create(model=MODEL, messages=[SMALL_TALK], stream=True)
    await anext(aiter(stream))
    await stream.close()
    # The next answer comes only when the slots are in order again.
    again = await client.chat.completions.create(model=MODEL, messages=[SMALL_TALK], stream=True)
    assert [chunk async for chunk in again]
    assert served.outcomes() in (["cancelled", "finished"], ["finished", "finished"])


async def test_a_request_that_cannot_be_read_is_refused(client: AsyncOpenAI) -> None:
    nobody = {"role": "nobody"}
    with pytest.raises(openai.BadRequestError, match="expected role and content"):
        await client.chat.completions.create(model=MODEL, messages=[nobody], stream=True)  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(openai.BadRequestError, match="stream"):
        await client.chat.completions.create(model=MODEL, messages=[SMALL_TALK])


async def test_our_own_engine_reads_ahead_and_gets_the_answer_from_a_tool_result(served: Served) -> None:
    engine = OpenAiEngine(OpenAiOptions(base_url=served.url))
    asked = [Message("user", "What time is it in Paris?")]
    try:
        session = engine.open("call")
        await session.prefill(asked, tools())
        async with aclosing(session.generate(asked, tools())) as stream:
            (call,) = [piece async for piece in stream]
        assert isinstance(call, ToolCall)
        told = [
            *asked,
            Message("assistant", "", (call,)),
            Message("tool", '{"time": "7:30 PM", "city": "Paris"}', (), call.call_id),
        ]
        async with aclosing(session.generate(told, tools())) as stream:
            answer = "".join([piece.text async for piece in stream if isinstance(piece, GeneratedText)])
    finally:
        await engine.close()
    assert "7:30" in answer
    assert served.outcomes() == ["read ahead", "finished", "finished"]


async def test_a_conversation_finds_its_session_again(bundled: EmbeddedEngine) -> None:
    slots = Slots(bundled, 2)
    one, other = [Message("user", "One.")], [Message("user", "Other.")]
    async with slots.slot(one) as first, slots.slot(other) as second:
        assert first != second
    async with slots.slot([*one, Message("assistant", "Yes."), Message("user", "Two.")]) as again:
        assert again == first


def test_content_parts_are_read_as_text() -> None:
    assert read_messages([{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]) == [Message("user", "Hello.")]
    with pytest.raises(ProtocolError, match="list"):
        read_messages([])
