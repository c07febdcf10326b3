"""A tool knows whose call it runs in, and the model can neither see nor forge it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.loopback import on_loopback
from tests.tools.kitchen import COMMAND
from voiceagent.errors import ConfigError
from voiceagent.tools import CallContext, tool
from voiceagent.tools.call_context import RecordedRequests
from voiceagent.tools.call_tools import EndCallTool
from voiceagent.tools.settings import McpSettings, ToolEntry, WebhookSettings
from voiceagent.tools.toolset import ToolSet

CALLER = CallContext[dict[str, object]](call_id="rtc_1", leg="telephone", caller="+49 30 1234", called="+49 40 5", language="de")


@dataclass
class Order:
    dishes: list[str] = field(default_factory=list)


@tool
def order(dish: str, call: CallContext[Order]) -> dict[str, object]:
    """Order a dish."""
    call.state.dishes.append(dish)
    return {"by": call.caller, "dishes": list(call.state.dishes)}


@tool(effect="none")
async def whose(call: CallContext) -> str:
    """Say whose call it is."""
    await asyncio.sleep(0)
    return call.caller


async def run(tools: ToolSet, name: str, arguments: str, call: CallContext[Any] | None = None) -> Any:
    outcome = await tools.run(name, arguments, 5.0, call)
    return json.loads(outcome.output)


# --- Python functions -------------------------------------------------------------------------------------------------


async def test_a_function_gets_its_call_and_the_model_does_not_see_the_parameter() -> None:
    tools = ToolSet([order])
    assert order.schema["function"]["parameters"]["properties"].keys() == {"dish"}
    state = tools.new_state()
    assert isinstance(state, Order)
    first = CallContext[Any](caller="Ann", state=state)
    assert await run(tools, "order", '{"dish": "soup"}', first) == {"by": "Ann", "dishes": ["soup"]}
    assert await run(tools, "order", '{"dish": "cake"}', first) == {"by": "Ann", "dishes": ["soup", "cake"]}
    await tools.close()


async def test_the_model_cannot_forge_the_call() -> None:
    tools = ToolSet([whose])
    forged = await run(tools, "whose", '{"call": {"caller": "the boss"}}', CALLER)
    assert "no argument call" in forged["error"]
    assert await run(tools, "whose", "{}", CALLER) == {"result": CALLER.caller}
    await tools.close()


@given(st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "Cy"]), st.text(max_size=5)), max_size=30))
def test_callers_at_once_never_see_each_others_call(orders: list[tuple[str, str]]) -> None:
    async def all_at_once() -> None:
        tools = ToolSet([order, whose])
        calls = {name: CallContext[Any](caller=name, state=tools.new_state()) for name in ("Ann", "Bob", "Cy")}
        runs = [run(tools, "order", json.dumps({"dish": dish}), calls[name]) for name, dish in orders]
        asked = [run(tools, "whose", "{}", calls[name]) for name, _ in orders]
        answers, names = await asyncio.gather(*runs), await asyncio.gather(*asked)
        await tools.close()
        assert [answer["by"] for answer in answers] == [name["result"] for name in names] == [name for name, _ in orders]
        for name, call in calls.items():
            assert sorted(call.state.dishes) == sorted(dish for by, dish in orders if by == name)

    asyncio.run(all_at_once())


def test_a_test_of_a_tool_makes_a_call_of_its_own() -> None:
    call = CallContext(caller="Ann")
    call.say(" Still  looking. ")
    call.transfer("desk")
    call.end("done")
    assert isinstance(call.requests, RecordedRequests)
    assert (call.requests.said, call.requests.transfers, call.requests.ended) == (["Still looking."], ["desk"], ["done"])
    assert order(dish="soup", call=CallContext(caller="Ann", state=Order())) == {"by": "Ann", "dishes": ["soup"]}


@pytest.mark.parametrize("line", ["", "  ", "x" * 301])
def test_a_line_that_cannot_be_said_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected 1 to 300 characters"):
        CallContext().say(line)


def test_a_state_that_cannot_be_made_or_kept_is_refused_at_the_start() -> None:
    class Needy(msgspec.Struct):
        name: str

    class Odd:
        pass

    for kept in (Needy, Odd):

        def buy(call: CallContext[kept]) -> str:  # type: ignore[valid-type]  # read at run time
            """Buy it."""
            return ""

        buy.__annotations__ = {"call": CallContext[kept], "return": str}  # type: ignore[valid-type]
        with pytest.raises(ConfigError, match=rf"tool buy: CallContext\[{kept.__name__}\] cannot keep the call's state"):
            tool(buy)


def test_two_parameters_for_the_call_and_two_states_of_a_call_are_refused() -> None:
    with pytest.raises(ConfigError, match="one and other both take the call"):

        @tool
        def twice(one: CallContext, other: CallContext) -> str:
            """Do it twice."""
            return ""

    @tool
    def count(call: CallContext[Counter]) -> int:
        """Count."""
        return 0

    with pytest.raises(ConfigError, match="tool count: keeps Counter of a call, and order keeps Order; expected one type"):
        ToolSet([order, count])


class Counter(msgspec.Struct):
    count: int = 0


async def test_a_result_asks_something_of_its_call_and_the_model_does_not_read_that() -> None:
    @tool
    def close_up() -> dict[str, object]:
        """Close up."""
        return {"closed": True, "voiceagent": {"end_call": "closed", "transfer": "desk"}}

    tools = ToolSet([close_up])
    outcome = await tools.run("close_up", "{}", 5.0)
    assert json.loads(outcome.output) == {"closed": True}
    assert outcome.orders == {"end_call": "closed", "transfer": "desk"}
    await tools.close()


async def test_the_tool_that_ends_a_call_asks_its_call_for_that() -> None:
    tools, call = ToolSet([EndCallTool("End the call.", "Why.")]), CallContext()
    assert await run(tools, "end_call", '{"reason": "all done"}', call) == {"status": "ending"}
    assert isinstance(call.requests, RecordedRequests)
    assert call.requests.ended == ["all done"]
    await tools.close()


# --- webhooks and MCP servers -----------------------------------------------------------------------------------------


@pytest.fixture
async def echo() -> AsyncIterator[str]:
    """A webhook that answers with what it was told."""

    async def handle(request: web.Request) -> web.Response:
        told = {name: value for name, value in request.headers.items() if name.startswith("X-Voiceagent-Call-")}
        return web.json_response({"headers": told, "body": await request.json()})

    app = web.Application()
    app.router.add_post("/", handle)
    async with on_loopback(app) as url:
        yield f"{url}/"


async def told_webhook(url: str, whose_call: CallContext[Any], **settings: Any) -> Any:
    hook = WebhookSettings(name="look", description="Look.", url=url, **settings)
    tools = ToolSet.from_config([ToolEntry(webhook=hook)], ".")
    await tools.open()
    try:
        return await run(tools, "look", "{}", whose_call)
    finally:
        await tools.close()


async def test_a_webhook_gets_the_call_as_headers_and_in_the_body_only_where_asked(echo: str) -> None:
    answer = await told_webhook(echo, CALLER)
    assert answer["body"] == {}
    assert answer["headers"] == {
        "X-Voiceagent-Call-Id": "rtc_1",
        "X-Voiceagent-Call-Leg": "telephone",
        "X-Voiceagent-Call-Caller": "+49 30 1234",
        "X-Voiceagent-Call-Called": "+49 40 5",
        "X-Voiceagent-Call-Language": "de",
        "X-Voiceagent-Call-Started-At": CALLER.started_at.isoformat(timespec="milliseconds"),
    }
    answer = await told_webhook(echo, CALLER, call=True)
    assert answer["body"] == {"call": CALLER.facts}
    assert answer["body"]["call"]["caller"] == "+49 30 1234"


@pytest.mark.parametrize("name", ["Zoë\r\nX-Admin: yes", "名前", "100 %", "\x00\x7f", "sip:ann@example.com"])
async def test_whatever_a_caller_is_called_is_one_header(echo: str, name: str) -> None:
    answer = await told_webhook(echo, CallContext(caller=name))
    told = answer["headers"]["X-Voiceagent-Call-Caller"]
    assert unquote(told) == name
    assert told.isascii()
    assert told.isprintable()


def test_a_parameter_of_the_calls_name_is_refused_where_the_body_holds_the_call() -> None:
    parameters: dict[str, object] = {"type": "object", "properties": {"call": {"type": "string"}}}
    hook = WebhookSettings(name="look", description="Look.", url="http://127.0.0.1/", parameters=parameters, call=True)
    with pytest.raises(ConfigError, match="webhook look: `call: true` puts the call into the body"):
        ToolSet.from_config([ToolEntry(webhook=hook)], ".")


@pytest.mark.parametrize("is_told", [True, False])
async def test_an_mcp_server_gets_the_call_only_where_asked(is_told: bool) -> None:
    program = McpSettings(command=COMMAND, only=("whose",), call=is_told)
    tools = ToolSet.from_config([ToolEntry(mcp=program)], Path())
    await tools.open()
    try:
        assert await run(tools, "whose", "{}", CALLER) == {"result": CALLER.caller if is_told else "nobody known"}
    finally:
        await tools.close()
