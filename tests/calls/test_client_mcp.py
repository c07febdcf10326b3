"""MCP servers that a client names, in whole calls over a WebSocket with OpenAI's own client. The MCP server is a real one; the
language model is a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.calls.scripted_model import NO_TOOLS, agent_on
from tests.calls.sdk_caller import SdkCaller
from tests.loopback import on_loopback
from tests.tools.kitchen import kitchen_served


@pytest.fixture(scope="module")
def kitchen() -> Iterator[str]:
    """The address of a real MCP server."""
    with kitchen_served() as url:
        yield url


def cooks(messages: list[dict[str, Any]]) -> str | tuple[str, str]:
    """A model that cooks a soup, and reads the result out."""
    last = messages[-1]
    return ("cook", '{"dish": "soup"}') if last["role"] == "user" else f"It says: {last['content']}"


def entry(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "mcp", "server_label": "kitchen", "server_url": url, **more}


async def listed(caller: SdkCaller, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The session with these tools, and then the item that lists the server's."""
    await caller.update(tools=tools, output_modalities=["text"])
    await caller.wait("mcp_list_tools.in_progress")
    await caller.wait("mcp_list_tools.completed")
    return dict((await caller.wait("conversation.item.done"))["item"])


async def test_a_tool_that_needs_no_approval_is_run_and_its_result_is_told(kitchen: str, tmp_path: Path) -> None:
    settings = f"http: {{client_mcp_servers: ['{kitchen}']}}\n"
    async with agent_on(tmp_path, cooks, NO_TOOLS, settings) as server, SdkCaller(server.url) as caller:
        item = await listed(caller, [entry(kitchen, require_approval="never", allowed_tools=["add", "cook"])])
        assert (item["type"], item["server_label"]) == ("mcp_list_tools", "kitchen")
        assert [tool["name"] for tool in item["tools"]] == ["add", "cook"]
        await caller.write("Soup, please.")
        await caller.connection.response.create()
        call, message = (await caller.wait("response.done"))["response"]["output"]
        assert (call["type"], call["server_label"], call["name"]) == ("mcp_call", "kitchen", "cook")
        assert json.loads(call["output"])["dish"] == "soup"
        assert "soup" in message["content"][0]["text"]
        await caller.update(tools=[])
        await caller.connection.conversation.item.retrieve(item_id=item["id"])
        assert (await caller.wait("conversation.item.retrieved"))["item"] == item


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_tool_waits_for_the_clients_approval(kitchen: str, tmp_path: Path, is_given: bool) -> None:
    settings = f"http: {{client_mcp_servers: ['{kitchen}']}}\n"
    async with agent_on(tmp_path, cooks, NO_TOOLS, settings) as server, SdkCaller(server.url) as caller:
        await listed(caller, [entry(kitchen)])
        await caller.write("Soup, please.")
        await caller.connection.response.create()
        (request,) = (await caller.wait("response.done"))["response"]["output"]
        assert (request["type"], request["name"]) == ("mcp_approval_request", "cook")
        assert json.loads(request["arguments"]) == {"dish": "soup"}
        answer: Any = {"id": "ok_1", "type": "mcp_approval_response", "approval_request_id": request["id"], "approve": is_given}
        await caller.connection.conversation.item.create(item=answer)
        await caller.connection.response.create()
        done = (await caller.wait("response.done"))["response"]
        *calls, message = done["output"]
        said = message["content"][0]["text"]
        if is_given:
            assert [(call["type"], call["approval_request_id"], call["error"]) for call in calls] == [
                ("mcp_call", request["id"], None)
            ]
            assert "soup" in said
        else:
            assert calls == []
            assert "did not approve" in said
        await caller.send("conversation.item.create", item={**answer, "id": "ok_2"}, event_id="mine")
        error = (await caller.wait("error"))["error"]
        assert (error["param"], error["event_id"]) == ("item.approval_request_id", "mine")


async def test_an_address_that_is_not_allowed_is_never_asked(kitchen: str, tmp_path: Path) -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization", ""))
        return web.Response(status=401)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", note)
    async with on_loopback(app) as other:
        settings = f"http: {{client_mcp_servers: ['{kitchen}']}}\n"
        async with agent_on(tmp_path, cooks, NO_TOOLS, settings) as server, SdkCaller(server.url) as caller:
            update: Any = {"type": "realtime", "tools": [entry(f"{other}/mcp", authorization="hidden-token")]}
            await caller.connection.session.update(session=update)
            shown = (await caller.wait("session.updated"))["session"]
            assert shown["tools"] == []
            error = (await caller.wait("error"))["error"]
            assert (error["code"], error["param"]) == ("invalid_tools", "session.tools")
            assert asked == []


async def test_credentials_go_to_the_server_alone_and_a_refusal_is_told(tmp_path: Path) -> None:
    asked: list[str] = []

    async def refuse(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization", ""))
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_route("*", "/mcp", refuse)
    async with on_loopback(app) as other:
        settings = f"http: {{client_mcp_servers: ['{other}']}}\n"
        async with agent_on(tmp_path, cooks, NO_TOOLS, settings) as server, SdkCaller(server.url) as caller:
            session = await caller.update(tools=[entry(f"{other}/mcp", authorization="hidden-token")])
            assert session["tools"] == [entry(f"{other}/mcp")]
            await caller.wait("mcp_list_tools.failed")
            assert (await caller.wait("conversation.item.done"))["item"]["tools"] == []
            error = (await caller.wait("error"))["error"]
            assert (error["code"], "kitchen" in error["message"]) == ("mcp_list_tools_failed", True)
            assert set(asked) == {"Bearer hidden-token"}
            assert not any("hidden-token" in line for line in server.said())
            kept = [path for path in server.data.rglob("*") if path.is_file()]
            assert not any(b"hidden-token" in path.read_bytes() for path in kept)
