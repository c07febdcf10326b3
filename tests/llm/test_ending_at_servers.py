"""What servers are asked about a pause, and what becomes of it where they cannot tell. The real vLLM is asked in tests/vllm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.fakes import SecondModel
from tests.llm.faulty_server import FaultyServer, faulty_server
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.servers.fallback import FallbackEngine
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions

MESSAGES = (Message("system", "Be brief."), Message("user", "Call me back tomorrow"))
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
LIKELY = [(".", -0.5), (" at", -1.5), ("<|im_end|>", -3.0), ("?", -5.0)]


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        running.owner = "vllm"
        running.likely = LIKELY
        yield running


@pytest.fixture
async def engine(server: FaultyServer) -> AsyncIterator[OpenAiEngine]:
    model = OpenAiEngine(OpenAiOptions(base_url=server.url))
    yield model
    await model.close()


async def test_vllm_goes_on_with_the_callers_words_and_tells_its_likeliest_tokens(
    server: FaultyServer, engine: OpenAiEngine
) -> None:
    assert await engine.open("call").ending_chance(MESSAGES, TOOLS) == pytest.approx(0.6065 + 0.0498 + 0.0067, abs=1e-3)
    (request,) = server.requests
    assert request["messages"][-1] == {"role": "user", "content": "Call me back tomorrow"}
    assert (request["continue_final_message"], request["add_generation_prompt"]) == (True, False)
    assert (request["max_tokens"], request["logprobs"], request["top_logprobs"], request["priority"]) == (1, True, 20, 1)
    assert [tool["function"]["name"] for tool in request["tools"]] == ["f"]


async def test_a_server_of_another_kind_is_not_asked(server: FaultyServer, engine: OpenAiEngine) -> None:
    server.owner = "library"
    assert await engine.open("call").ending_chance(MESSAGES, TOOLS) is None
    assert server.requests == []


@pytest.mark.parametrize("fault", ["goes on with nobody", "tells no likelihoods"])
async def test_a_server_that_refuses_is_asked_once(server: FaultyServer, engine: OpenAiEngine, fault: str) -> None:
    server.fault = fault
    server.likely = LIKELY if fault == "goes on with nobody" else []
    for _ in range(3):
        assert await engine.open("call").ending_chance(MESSAGES, TOOLS) is None
    assert len(server.requests) == 1


async def test_a_server_without_priorities_is_asked_without_one(server: FaultyServer, engine: OpenAiEngine) -> None:
    server.fault = "no priorities"
    for _ in range(2):
        assert await engine.open("call").ending_chance(MESSAGES, TOOLS) is not None
    assert [request.get("priority") for request in server.requests] == [1, None, None]


async def test_an_answer_that_comes_too_late_is_given_up(server: FaultyServer, engine: OpenAiEngine) -> None:
    engine.servers.ending_timeout_s = 0.2
    server.fault = "silent"
    with pytest.raises(EngineError, match="sent nothing in time"):
        await engine.open("call").ending_chance(MESSAGES, TOOLS)
    await asyncio.wait_for(server.disconnected.wait(), 2)


@pytest.mark.parametrize("fault", ["500", "401"])
async def test_a_server_that_fails_is_one_clear_line(server: FaultyServer, engine: OpenAiEngine, fault: str) -> None:
    server.fault = fault
    with pytest.raises(EngineError, match="http://127") as caught:
        await engine.open("call").ending_chance(MESSAGES, TOOLS)
    assert "\n" not in str(caught.value)


async def test_a_fallback_judges_while_it_answers(server: FaultyServer, engine: OpenAiEngine) -> None:
    both = FallbackEngine(engine, SecondModel())
    session = both.open("call")
    assert await session.ending_chance(MESSAGES, TOOLS) != 0.25
    server.fault = "500"
    async for _ in session.generate(MESSAGES, []):
        pass
    assert await session.ending_chance(MESSAGES, TOOLS) == 0.25
