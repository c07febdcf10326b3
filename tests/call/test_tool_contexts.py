"""A tool's requests to its call, and its tools in the steps of an agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest

from voiceagent.call.cards import CallCards
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.call.step_tools import AgentStepTools
from voiceagent.call.tool_contexts import ToolContexts
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import Rules
from voiceagent.errors import ProtocolError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.settings.steps import NextStep, StepSettings
from voiceagent.tools import CallContext, ToolError, tool
from voiceagent.tools.call_context import CallOrigin
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet


@tool(effect="none")
def look(call: CallContext) -> str:
    """Look."""
    call.end("looked")
    return "seen"


@tool
def close_up(call: CallContext) -> str:
    """Close up."""
    call.end("closed")
    return "closed"


STEPS = {
    "first": StepSettings(tools=("look",), values={"name": {"type": "string"}}, next=(NextStep("last"),)),
    "last": StepSettings(tools=("close_up",)),
}


@pytest.fixture
async def toolset() -> AsyncIterator[ToolSet]:
    toolset = ToolSet([look, close_up])
    yield toolset
    await toolset.close()


def contexts(toolset: ToolSet) -> tuple[ToolContexts, asyncio.Queue[ev.Event]]:
    """The contexts of a call's tools, and what they feed."""
    fed: asyncio.Queue[ev.Event] = asyncio.Queue()
    scope = CallScope("rtc_1", CallClock(), CallTasks(cast(Any, None)), fed.put_nowait)
    state = machine.start(Rules())
    guards = load_guards(GuardSettings())
    return ToolContexts(
        scope, CallTools(toolset), guards, lambda: state, "webrtc", CallOrigin(), dict, CallCards(lambda: state)
    ), fed


async def test_only_a_tool_with_an_effect_ends_or_transfers_the_call(toolset: ToolSet) -> None:
    made, fed = contexts(toolset)
    for early in (-1, 1):
        outcome = await toolset.run("look", "{}", 5.0, made.of("look", 1, "c", early))
        assert "neither transfers nor ends the call" in json.loads(outcome.output)["error"]
    with pytest.raises(ToolError, match="neither transfers nor ends the call"):
        made.of("look", 1, "c").transfer("desk")
    assert (await toolset.run("close_up", "{}", 5.0, made.of("close_up", 1, "c"))).ok
    ended = await fed.get()
    assert isinstance(ended, ev.EndRequested)
    assert ended.detail == "closed"
    assert fed.empty()


@pytest.mark.parametrize(("name", "fed_events"), [("look", 0), ("close_up", 1)])
async def test_a_result_asks_for_the_end_only_if_its_tool_has_an_effect(
    toolset: ToolSet, caplog: pytest.LogCaptureFixture, name: str, fed_events: int
) -> None:
    made, fed = contexts(toolset)
    orders: Mapping[str, object] = {"end_call": "done"}
    made.ended(name, orders)
    await asyncio.sleep(0)  # what comes from any thread is fed by the loop's next turn
    assert fed.qsize() == fed_events
    assert ("neither transfers nor ends" in caplog.text) is not bool(fed_events)


async def test_a_tool_that_the_step_has_not_is_not_run_though_the_model_asks_for_it(toolset: ToolSet) -> None:
    tools = CallTools(toolset, steps=AgentStepTools(STEPS, "Note.", "Go."))
    tools.step = "first"
    assert [schema["function"]["name"] for schema in tools.schemas()] == ["look", "note"]
    refused = await tools.run("c", "close_up", "{}", 5.0)
    assert json.loads(refused.output) == {"error": "The tool close_up cannot be used in this step of the call."}
    tools.step = "last"
    assert (await tools.run("c", "close_up", "{}", 5.0)).ok
    with pytest.raises(ProtocolError, match="There is a tool note already"):
        tools.offer([{"type": "function", "name": "note"}])
