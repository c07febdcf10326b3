"""A call's tools: the agent's, and those that its client offers and runs itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from voiceagent.errors import ProtocolError
from voiceagent.tools import tool
from voiceagent.tools.call_tools import MAX_AT_CLIENT, MAX_CLIENT_TOOLS, CallTools
from voiceagent.tools.runner import MAX_RUNNING
from voiceagent.tools.tool import ToolPolicy
from voiceagent.tools.toolset import UNKNOWN, ToolSet

PAINT = {
    "type": "function",
    "name": "paint",
    "description": "Paint the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]},
}


@tool(effect="none")
def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture
async def agents() -> ToolSet:
    return ToolSet([look])


async def waiting(tools: CallTools, call_id: str) -> None:
    """Until the client is waited for."""
    while call_id not in tools._waiting:  # noqa: ASYNC110 - only the loop has to go round
        await asyncio.sleep(0)


async def test_the_clients_tool_is_run_by_whoever_answers(agents: ToolSet) -> None:
    tools = CallTools(agents)
    assert tools.offer([PAINT]) == [PAINT]
    assert [schema["function"]["name"] for schema in tools.schemas()] == ["look", "paint"]
    assert tools.policy("paint") == ToolPolicy("external")
    run = asyncio.create_task(tools.run("c1", "paint", '{"colour": "red"}', 5))
    await waiting(tools, "c1")
    assert not tools.answer("c2", "{}")
    assert tools.answer("c1", '{"painted": "red"}')
    assert not tools.answer("c1", "{}")
    assert json.loads((await run).output) == {"painted": "red"}
    assert json.loads((await tools.run("c2", "look", "", 5)).output) == {"result": "seen"}
    await agents.close()


@pytest.mark.parametrize(
    ("output", "told"), [("done", {"result": "done"}), ("[1]", {"result": [1]}), ("", {"result": ""}), ("x" * 20_000, None)]
)
async def test_whatever_the_client_answers_becomes_json(agents: ToolSet, output: str, told: Any) -> None:
    tools = CallTools(agents)
    tools.offer([PAINT])
    run = asyncio.create_task(tools.run("c1", "paint", '{"colour": "red"}', 5))
    await waiting(tools, "c1")
    tools.answer("c1", output)
    outcome = json.loads((await run).output)
    assert outcome == (told if told is not None else {"error": "The tool's result is too long."})
    await agents.close()


async def test_a_client_that_does_not_answer_is_waited_for_only_so_long(agents: ToolSet) -> None:
    tools = CallTools(agents)
    tools.offer([PAINT])
    outcome = await tools.run("c1", "paint", '{"colour": "red"}', 0.01)
    assert json.loads(outcome.output) == {"error": "The tool paint took too long."}
    assert not tools.answer("c1", "{}")
    await agents.close()


async def test_a_client_that_never_answers_takes_no_place_of_other_tools(agents: ToolSet) -> None:
    silent = [CallTools(agents) for _ in range(MAX_RUNNING // MAX_AT_CLIENT)]
    runs = []
    for tools in silent:
        tools.offer([PAINT])
        for number in range(MAX_AT_CLIENT):
            runs.append(asyncio.create_task(tools.run(f"c{number}", "paint", '{"colour": "red"}', 60)))
            await waiting(tools, f"c{number}")
        assert "Too many" in (await tools.run("c", "paint", '{"colour": "red"}', 60)).output
    assert (await CallTools(agents).run("c", "look", "", 5)).ok
    for tools in silent:
        tools.close()
    assert {json.loads((await run).output)["error"] for run in runs} == {"The call ended before the tool did."}
    await agents.close()


async def test_wrong_arguments_do_not_reach_the_client(agents: ToolSet) -> None:
    tools = CallTools(agents)
    tools.offer([PAINT])
    outcome = await tools.run("c1", "paint", "{}", 5)
    assert json.loads(outcome.output) == {"error": "Wrong arguments: 'colour' is a required property."}
    await agents.close()


async def test_the_end_of_the_call_ends_the_wait(agents: ToolSet) -> None:
    tools = CallTools(agents)
    tools.offer([PAINT])
    run = asyncio.create_task(tools.run("c1", "paint", '{"colour": "red"}', 5))
    await waiting(tools, "c1")
    tools.close()
    assert json.loads((await run).output) == {"error": "The call ended before the tool did."}
    await agents.close()


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        ({}, "must be a list"),
        ([PAINT] * (MAX_CLIENT_TOOLS + 1), "at most 32"),
        ([PAINT, PAINT], "There is a tool paint already"),
        ([{**PAINT, "name": "look"}], "There is a tool look already"),
        ([{**PAINT, "name": "a b"}], "needs a name"),
        ([{"type": "mcp", "server_url": "http://h/"}], "needs a server_label"),
        ([{"type": "computer"}], "of type function"),
        (["paint"], "of type function"),
        ([{**PAINT, "description": "x" * 3000}], "at most 2000 characters"),
        ([{**PAINT, "parameters": {"type": "array"}}], "cannot be used: the schema is of type 'array'"),
    ],
)
async def test_tools_that_cannot_be_offered_change_nothing(agents: ToolSet, offer: Any, said: str) -> None:
    tools = CallTools(agents)
    tools.offer([PAINT])
    with pytest.raises(ProtocolError, match=said):
        tools.offer(offer)
    assert tools.offered == [PAINT]
    assert tools.offer([]) == []
    assert tools.policy("paint") == UNKNOWN
    await agents.close()
