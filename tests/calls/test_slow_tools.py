"""The example of slow tools in whole calls over real WebRTC: bridged, run speculatively, confirmed, begun with what is known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback
from tests.server_process import PROFILE, ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange
from voiceagent.conversation import actions as act
from voiceagent.turn_taking.languages.en import ENGLISH

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "slow"
WEATHER = "What's the weather in Paris tomorrow?"
BOOKING = "Book a table for 4 people on Friday at 7 PM."
BOTH = "What's the weather in Rome?"
CALLS_TO_LEARN = 8
"""The second call can run speculatively where the model is quick, the third by the words of those before, if they were heard in
time."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("slow"), "--config", str(EXAMPLE / "agent.yaml"), "--event-logs", "9") as server:
        yield server


async def ask(server: ServerProcess, said: Said, *requests: str) -> list[Exchange]:
    """One call."""
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        for request in requests:
            await dialogue.turn(request, *await said(request))
        return dialogue.exchanges


def decided(server: ServerProcess) -> list[act.Action]:
    """All that the turn engine decided in the latest call."""
    return [action for step in latest_log(server.data)[1] for action in step.actions]


@pytest.mark.skipif(PROFILE not in ("", "embedded"), reason="a model that needs longer than the caller's pause is asked too late")
async def test_a_slow_tool_is_bridged_first_and_runs_ahead_once_it_is_known_to_be_slow(slow: ServerProcess, said: Said) -> None:
    (first,) = await ask(slow, said, WEATHER)
    assert first.heard.startswith("I am")
    assert "sunny in Paris tomorrow" in first.heard
    for _ in range(CALLS_TO_LEARN):
        (again,) = await ask(slow, said, WEATHER)
        assert "sunny in Paris tomorrow" in again.heard
        actions = decided(slow)
        ran_when_asked_for = [action for action in actions if isinstance(action, act.RunTool)]
        if not ran_when_asked_for:
            break
    assert not ran_when_asked_for
    saved_ms = [action.saved_ms for action in actions if isinstance(action, act.SpeculativeToolEnded) and action.used]
    assert len(saved_ms) == 1
    assert saved_ms[0] > 0
    async with aiohttp.ClientSession() as session, session.get(f"{slow.url}/metrics") as answer:
        assert 'voiceagent_speculative_tool_calls_total{outcome="used"}' in await answer.text()


async def test_a_tool_with_effects_waits_for_a_yes_and_finishes_though_interrupted(slow: ServerProcess, said: Said) -> None:
    yes, stop = await said("Yes, please."), await said("Stop.")
    async with Caller(slow.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        (asked,) = await dialogue.turn(BOOKING, *await said(BOOKING))
        since = dialogue.event_count
        agreed, _ = await dialogue.turn("Yes, please.", *yes, interrupt_with=("Stop.", stop[0]), interrupt_after_s=0.3)
        booked = await dialogue.wait_event(
            lambda event: event.type == "voiceagent.tool" and event.data["status"] == "completed", since, "the booking's end"
        )
    assert asked.heard == "Shall I book a table for 4 on Friday at 7 PM?"
    assert "asked to confirm" in asked.tools[0]["output"]
    assert agreed.unheard
    assert json.loads(booked.data["output"]) == {"booked": "table", "people": 4, "day": "Friday", "time": "7 PM"}
    actions = decided(slow)
    names = [
        type(action).__name__ for action in actions if isinstance(action, (act.CallerFinal, act.RunTool, act.RunSpeculativeTool))
    ]
    assert names[:3] == ["CallerFinal", "CallerFinal", "RunTool"]
    assert names.count("RunTool") == 1


class TwoAtOnce:
    """A language model that asks for two tools at once, which the bundled one does not; then it says what it is told."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []
        """The tools' results in each prompt that asked for words."""

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "two", "object": "model", "created": 0, "owned_by": "test"}]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if not results:
            for index, (name, arguments) in enumerate((("get_time", "{}"), ("get_weather", '{"city": "Rome"}'))):
                call = {"index": index, "id": f"call{index}", "function": {"name": name, "arguments": arguments}}
                await response.write(chunk({"tool_calls": [call]}))
        else:
            self.told.append(results)
            text = "It is noon." if results[-1] == ENGLISH.prompts.tool_pending else "And it is sunny in Rome."
            await response.write(chunk({"content": text}))
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def two_at_once() -> AsyncIterator[tuple[TwoAtOnce, str]]:
    model = TwoAtOnce()
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        yield model, f"{url}/v1"


async def test_a_reply_begins_with_the_quick_tool_and_goes_on_with_the_slow_one(tmp_path: Path, said: Said) -> None:
    async with two_at_once() as (model, url):
        settings = (
            f"tools: [{EXAMPLE / 'tools.py'}]\nturn: {{max_speculative_tool_calls: 0}}\nllm: {{base_url: '{url}', model: two}}\n"
        )
        (tmp_path / "agent.yaml").write_text(f"{settings}phrases: {{greeting: Hello.}}\n")
        starting = running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--event-logs", "1")
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            server = await asyncio.to_thread(stack.enter_context, starting)
            (turn,) = await ask(server, said, BOTH)
            actions = decided(server)
    assert turn.heard == "It is noon. And it is sunny in Rome."
    assert [tool["name"] for tool in turn.tools] == ["get_time", "get_weather"]
    assert [results[-1] == ENGLISH.prompts.tool_pending for results in model.told] == [True, False]
    assert all("time" in results[0] for results in model.told)
    begun = next(i for i, action in enumerate(actions) if isinstance(action, act.ReplyHeard) and action.heard.startswith("It"))
    ended = [i for i, action in enumerate(actions) if isinstance(action, act.ToolEnded)]
    assert ended[0] < begun < ended[1]
