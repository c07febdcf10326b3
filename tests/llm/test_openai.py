"""The OpenAI-compatible engine against a server that goes wrong on purpose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from tests.llm.faulty_server import FaultyServer, chunk, faulty_server
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import ConfigError, EngineError
from voiceagent.llm.engine import Generated, GeneratedText, TokenCount, no_forcing
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions, create

HELLO = (Message("user", "Hello."),)


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        yield running


def engine(server: FaultyServer, **options: float) -> OpenAiEngine:
    return OpenAiEngine(OpenAiOptions(base_url=server.url, **options))  # type: ignore[arg-type]  # fields of several types


async def generated(model: OpenAiEngine, messages: tuple[Message, ...] = HELLO) -> list[Generated]:
    try:
        async with aclosing(model.open("call").generate(messages, [])) as stream:
            return [piece async for piece in stream]
    finally:
        await model.close()


async def test_text_streams_and_the_first_listed_model_is_asked(server: FaultyServer) -> None:
    found = await generated(engine(server))
    assert found == [GeneratedText("Hello"), GeneratedText(" there.")]
    assert server.requests[0]["model"] == "m"


async def test_a_tool_call_that_comes_in_pieces_is_given_out_whole(server: FaultyServer) -> None:
    server.fault = "tools"
    assert await generated(engine(server)) == [ToolCall("a", "get_time", '{"city": "Oslo"}')]


async def test_a_tool_call_that_the_server_takes_for_text_is_not_spoken(server: FaultyServer) -> None:
    server.fault = "raw tools"
    assert [(call.name, call.arguments) for call in await generated(engine(server)) if isinstance(call, ToolCall)] == [
        ("get_time", '{"city": "Oslo"}')
    ]


async def test_tool_results_are_sent_as_the_api_wants_them(server: FaultyServer) -> None:
    call = ToolCall("a", "get_time", "{}")
    await generated(engine(server), (*HELLO, Message("assistant", "", (call,)), Message("tool", "{}", tool_call_id="a")))
    roles = [(m["role"], m.get("tool_call_id")) for m in server.requests[0]["messages"]]
    assert roles == [("user", None), ("assistant", None), ("tool", "a")]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("401", "refuses the key"),
        ("404", "no model"),
        ("429", "refused the request"),
        ("500", "refused the request"),
        ("gives up", "EngineCore encountered an issue"),
        ("garbage", "cannot be read"),
        ("dies", "broke in the middle"),
        ("silent", "nothing in time"),
        ("stalls", "nothing in time"),
    ],
)
async def test_a_fault_is_one_clear_line(server: FaultyServer, fault: str, said: str) -> None:
    server.fault = fault
    with pytest.raises(EngineError, match=said) as caught:
        await generated(engine(server, first_token_timeout_s=1.0, inactivity_timeout_s=1.0))
    assert "\n" not in str(caught.value)


async def test_only_what_fills_a_block_of_the_prefix_cache_is_read_ahead(server: FaultyServer) -> None:
    model = engine(server)
    session = model.open("call")
    try:
        for words in ("What", "What is the", "What is the weather", "What is the weather " + "in the city of Paris " * 4):
            await session.prefill((Message("system", "Be brief."), Message("user", words)), [])
        assert [request["max_tokens"] for request in server.requests] == [1, 1]
        await model.open("call").prefill(HELLO, [])
        assert len(server.requests) == 3
    finally:
        await model.close()


async def test_no_server_is_one_clear_line() -> None:
    with pytest.raises(EngineError, match="no language model answers there"):
        await generated(OpenAiEngine(OpenAiOptions(base_url="http://127.0.0.1:9/v1")))


async def test_cancelling_closes_the_connection(server: FaultyServer) -> None:
    server.fault = "stalls"
    model = engine(server)
    first = asyncio.Event()

    async def listen() -> None:
        async with aclosing(model.open("call").generate(HELLO, [])) as stream:
            async for _ in stream:
                first.set()

    task = asyncio.create_task(listen())
    await first.wait()
    task.cancel()
    await asyncio.wait_for(server.disconnected.wait(), 5)
    await model.close()


async def test_a_tool_that_must_be_called_is_asked_for_alone(server: FaultyServer) -> None:
    server.fault = "tools"
    model = engine(server)
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("get_time", "get_weather")]
    for must_call, offered in (
        ("get_time", ["get_time"]),
        (ANY_TOOL, ["get_time", "get_weather"]),
        ("", ["get_time", "get_weather"]),
    ):
        async with aclosing(model.open("call").generate(HELLO, tools, must_call=must_call)) as stream:
            assert [piece async for piece in stream] == [ToolCall("a", "get_time", '{"city": "Oslo"}')]
        asked = server.requests[-1]
        assert [tool["function"]["name"] for tool in asked["tools"]] == offered
        assert asked.get("tool_choice") == ("required" if must_call else None)
    assert no_forcing(model) == ""
    await model.close()


async def test_a_server_that_passes_over_the_choice_of_tools_is_known(server: FaultyServer) -> None:
    server.owner = "library"
    model = engine(server)
    await generated(model)
    assert "Ollama" in no_forcing(model)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43}, [TokenCount(40, 3)]),
        ({"prompt_tokens": 40, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 32}}, [TokenCount(40, 3, 32)]),
        ({"prompt_tokens": -1, "completion_tokens": 3}, []),
        ({"prompt_tokens": "many", "completion_tokens": {}}, []),
        (None, []),
    ],
)
async def test_tokens_are_those_that_the_server_counts(server: FaultyServer, usage: object, counted: list[TokenCount]) -> None:
    end = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [], "usage": usage}
    server.stream_body = chunk({"content": "Hello."}) + f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode()
    assert await generated(engine(server)) == [GeneratedText("Hello."), *counted]
    assert server.requests[0]["stream_options"] == {"include_usage": True}


async def test_a_server_that_does_not_count_is_not_asked_again(server: FaultyServer) -> None:
    server.fault = "no usage"
    model = engine(server)
    session = model.open("call")
    for _ in range(2):
        async with aclosing(session.generate(HELLO, [])) as stream:
            assert await anext(stream) == GeneratedText("Hello")
    assert ["stream_options" in request for request in server.requests] == [True, False, False]
    await model.close()


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ConfigError, match="colour"):
        create(None, {"base_url": "http://127.0.0.1:9/v1", "colour": "red"})


def streamed(*deltas: dict[str, str]) -> bytes:
    return b"".join(chunk(delta) for delta in deltas) + b"data: [DONE]\n\n"


async def test_what_the_model_thinks_aloud_is_not_said(server: FaultyServer) -> None:
    server.stream_body = streamed(
        {"reasoning_content": "The user greets.", "content": ""},
        {"reasoning_content": " I greet back."},
        {"content": "<thi"},
        {"content": "nk>Hm.</think"},
        {"content": ">\n\nHello"},
        {"content": " there."},
    )
    found = await generated(engine(server))
    assert "".join(piece.text for piece in found if isinstance(piece, GeneratedText)) == "Hello there."


async def test_a_thought_that_the_servers_template_begins_is_left_out_from_the_second_reply_on(server: FaultyServer) -> None:
    server.stream_body = streamed({"content": "Hm.</think>"}, {"content": "Hello."})
    for thinks_first, expected in ((False, ["Hm.Hello.", "Hello.", "Hello."]), (True, ["Hello."])):
        model = OpenAiEngine(OpenAiOptions(base_url=server.url, thinks_first=thinks_first))
        for text in expected:
            async with aclosing(model.open("call").generate(HELLO, [])) as stream:
                pieces = [piece async for piece in stream]
            assert "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText)) == text
        await model.close()


async def test_a_reply_that_is_all_thought_is_an_error(server: FaultyServer) -> None:
    server.stream_body = streamed({"content": "<think>On and on"})
    with pytest.raises(EngineError, match="only thought"):
        await generated(engine(server))


async def test_calls_of_other_families_that_a_server_takes_for_text_are_not_said(server: FaultyServer) -> None:
    server.stream_body = streamed({"content": "[TOOL_"}, {"content": 'CALLS]get_time[ARGS]{"city": "Oslo"}'})
    (call,) = await generated(engine(server))
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("get_time", '{"city": "Oslo"}')
