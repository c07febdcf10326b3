"""What the engine does about servers that fail: other servers, shorter conversations, fewer wishes, a fallback."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from tests.fakes import SecondModel
from tests.llm.faulty_server import FaultyServer, chunk, faulty_server
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import Generated, GeneratedText, LlmEngine, LlmSession, ToolSchema, Urgency
from voiceagent.llm.servers.fallback import FallbackEngine
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.models.registry import resolve

HELLO = (Message("user", "Hello."),)
SPOKEN = [GeneratedText("Hello"), GeneratedText(" there.")]
TOOL: ToolSchema = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
async def first() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        yield running


@pytest.fixture
async def second() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        yield running


def engine(*servers: FaultyServer, **options: float) -> OpenAiEngine:
    urls = ",".join(server.url for server in servers)
    return OpenAiEngine(OpenAiOptions(base_url=urls, **options))  # type: ignore[arg-type]  # fields of several types


async def generated(model: LlmEngine, messages: Sequence[Message] = HELLO, tools: Sequence[ToolSchema] = ()) -> list[Generated]:
    return await asked_of(model.open("call"), messages, tools)


async def asked_of(session: LlmSession, messages: Sequence[Message] = HELLO, tools: Sequence[ToolSchema] = ()) -> list[Generated]:
    async with aclosing(session.generate(messages, tools, Urgency.SPECULATIVE)) as stream:
        return [piece async for piece in stream]


@pytest.mark.parametrize("fault", ["500", "503", "429", "silent", "gives up", "garbage"])
async def test_another_server_answers_what_one_fails_to_begin(first: FaultyServer, second: FaultyServer, fault: str) -> None:
    first.fault = fault
    model = engine(first, second, first_token_timeout_s=0.3)
    assert await generated(model) == SPOKEN
    assert model.problems["asked_again"] > 0
    assert len(second.requests) == 1
    asked = len(first.requests)
    assert await generated(model) == SPOKEN
    assert len(first.requests) == asked
    await model.close()


@pytest.mark.parametrize(
    "body",
    [
        b"data: 5\n\n",
        b'data: "Hello"\n\n',
        b'data: {"choices": {"a": 1}}\n\n',
        b'data: {"choices": [5]}\n\n',
        chunk({"content": 5}),
        chunk({"content": "Hello \ud83d"}),
        chunk({"content": [{"type": "text", "text": "Hello"}]}),
        chunk({"tool_calls": [5]}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": "get_time"}]}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "get_time", "arguments": {"city": "Oslo"}}}]}),
    ],
)
async def test_what_is_no_chunk_of_a_reply_is_the_servers_failure(first: FaultyServer, second: FaultyServer, body: bytes) -> None:
    first.stream_body = body
    model = engine(first, second)
    assert await generated(model) == SPOKEN
    assert len(first.requests) == 1
    await model.close()


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[1]", '{"object": "list"}', '{"data": null}', '{"data": ["m"]}'])
async def test_what_is_no_list_of_models_is_the_servers_failure(first: FaultyServer, body: str) -> None:
    first.models_body = body
    model = engine(first)
    with pytest.raises(EngineError, match="its list of models is none"):
        await generated(model)
    assert await model.kv_capacity() is None
    await model.close()


async def test_a_dead_server_is_passed_over(first: FaultyServer) -> None:
    model = OpenAiEngine(OpenAiOptions(base_url=f"http://127.0.0.1:9/v1, {first.url}"))
    assert await generated(model) == SPOKEN
    await model.close()


async def test_what_fails_after_its_first_words_is_not_said_again(first: FaultyServer, second: FaultyServer) -> None:
    first.fault = "dies"
    model = engine(first, second)
    async with aclosing(model.open("call").generate(HELLO, [])) as stream:
        assert [await anext(stream) for _ in SPOKEN] == SPOKEN
        with pytest.raises(EngineError, match="broke in the middle"):
            await anext(stream)
    assert not second.requests
    await model.close()


async def test_a_session_stays_with_the_server_that_knows_it(first: FaultyServer, second: FaultyServer) -> None:
    model = engine(first, second)
    session = model.open("call")
    for _ in range(3):
        await asked_of(session)
    assert sorted(len(server.requests) for server in (first, second)) == [0, 3]
    await model.close()


async def test_a_reply_that_takes_too_long_ends_with_what_was_said(first: FaultyServer) -> None:
    first.fault = "endless"
    model = engine(first, total_timeout_s=0.3)
    assert len(await generated(model)) > 3
    assert model.problems["reply_cut"] == 1
    await asyncio.wait_for(first.disconnected.wait(), 5)
    await model.close()


async def test_a_reply_that_has_not_begun_in_its_whole_time_has_failed(first: FaultyServer) -> None:
    first.fault = "silent"
    model = engine(first, total_timeout_s=0.2)
    with pytest.raises(EngineError, match="nothing in time"):
        await generated(model)
    await model.close()


async def test_a_conversation_that_is_too_long_loses_its_older_half_and_stays_without_it(first: FaultyServer) -> None:
    first.context_messages = 8
    model = engine(first)
    talk = [Message("system", "Be brief.")]
    for number in range(10):
        talk += [Message("user", f"Question {number}?"), Message("assistant", f"Answer {number}.")]
    asked = [*talk, Message("user", "And now?")]
    session = model.open("call")
    assert await asked_of(session, asked) == SPOKEN
    sent = [message["content"] for message in first.requests[-1]["messages"]]
    assert sent[0] == "Be brief."
    assert sent[1].startswith("Question")
    assert sent[-1] == "And now?"
    refused = len(first.requests) - 1
    await asked_of(session, [*asked, Message("assistant", "Well."), Message("user", "Yes?")])
    assert [message["content"] for message in first.requests[-1]["messages"]][: len(sent)] == sent
    assert refused >= 1
    assert len(first.requests) == refused + 2
    await model.close()


async def test_a_single_turn_that_is_too_long_is_one_clear_line(first: FaultyServer) -> None:
    first.context_messages = 0
    model = engine(first)
    with pytest.raises(EngineError, match="too long for it"):
        await generated(model)
    await model.close()


@pytest.mark.parametrize("fault", ["no priorities", "no grammar"])
async def test_what_a_server_does_not_know_it_is_not_asked_for_again(first: FaultyServer, fault: str) -> None:
    first.fault, first.owner = fault, "vllm"
    model = engine(first)
    assert await generated(model, tools=[TOOL]) == SPOKEN
    assert await generated(model, tools=[TOOL]) == SPOKEN
    assert len(first.requests) == 3
    await model.close()


async def test_vllm_is_told_the_urgency_and_to_keep_to_the_schema(first: FaultyServer) -> None:
    first.owner = "vllm"
    model = engine(first)
    await generated(model, tools=[TOOL])
    assert first.requests[0]["priority"] == Urgency.SPECULATIVE
    assert first.requests[0]["tools"][0]["function"]["strict"] is True
    await model.close()


async def test_a_full_cache_is_load(first: FaultyServer) -> None:
    first.owner = "vllm"
    first.metrics_text = 'vllm:num_requests_waiting{engine="0"} 0.0\nvllm:kv_cache_usage_perc{engine="0"} 0.95\n'
    model = engine(first)
    await generated(model)

    async def full() -> None:
        while model.load < 1:
            await generated(model)

    await asyncio.wait_for(full(), 5)
    await model.close()


async def test_a_fallback_is_told_no_more_of_a_conversation_than_it_can_use(first: FaultyServer) -> None:
    first.fault = "500"
    second = SecondModel()
    model = FallbackEngine(engine(first), second)
    assert model.limits.history_tokens is None, "the first one may be told all of it"
    session = model.open("call")
    talk = [Message("system", "Be kind. " * 50)]
    for turn in range(12):
        talk.append(Message("user", f"Question {turn}, please."))
        assert await asked_of(session, talk) == [GeneratedText("the fallback")]
        talk.append(Message("assistant", "Hello there."))
    assert all(told[0] == talk[0] and told[-1].content.startswith("Question") for told in second.told)
    assert all(sum(len(message.content) for message in told[1:]) <= 80 for told in second.told)
    grew = sum(list(later[: len(earlier)]) == list(earlier) for earlier, later in itertools.pairwise(second.told))
    assert grew >= 6, "what was left out stays out, and the prompt grows again"
    await model.close()


async def test_a_fallback_answers_while_the_server_does_not(first: FaultyServer) -> None:
    first.fault = "500"
    model = FallbackEngine(engine(first), SecondModel())
    assert await generated(model) == [GeneratedText("the fallback")]
    first.fault = ""
    assert await generated(model) == [GeneratedText("the fallback")]
    assert (model.problems["fallback_answered"], len(first.requests)) == (1, 1)
    await model.close()


async def test_a_session_that_was_closed_sends_no_other_call_to_the_fallback() -> None:
    first = EmbeddedEngine(resolve("micro-lm"))
    model = FallbackEngine(first, SecondModel())
    try:
        closed, other = model.open("closed"), model.open("other")
        await closed.close()
        with pytest.raises(EngineError, match="the call has ended"):
            await asked_of(closed, HELLO)
        assert not model.uses_fallback
        assert GeneratedText("the fallback") not in await asked_of(other, HELLO)
    finally:
        await model.close()


async def test_a_session_that_was_closed_opens_no_other_at_the_fallback(first: FaultyServer) -> None:
    first.fault = "500"
    second = SecondModel()
    model = FallbackEngine(engine(first), second)
    await generated(model)
    assert model.uses_fallback
    session, opened = model.open("call"), second.opened
    await session.close()
    with pytest.raises(EngineError, match="the call has ended"):
        await session.prefill(HELLO, [])
    assert second.opened == opened
    await model.close()
