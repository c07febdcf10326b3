"""Tools of real MCP servers, over standard input and output and over HTTP, also while those come and go."""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web
from mcp.client import Client

from tests.loopback import on_loopback
from tests.tools.kitchen import COMMAND, ROOT, free_port, kitchen_served
from tests.tools.log_watch import LogWatch
from voiceagent.errors import ConfigError
from voiceagent.tools import tool
from voiceagent.tools.mcp_server import MAX_ANSWER_BYTES
from voiceagent.tools.settings import McpSettings, RuleSettings, ToolEntry
from voiceagent.tools.tool import ToolPolicy
from voiceagent.tools.toolset import ToolSet


class HttpServer:
    """The same program behind an address; it may be killed and started again there."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        process = self._process = await asyncio.create_subprocess_exec(
            *COMMAND, str(self.port), cwd=ROOT, stderr=asyncio.subprocess.PIPE, limit=1 << 20
        )
        assert process.stderr is not None
        while "Uvicorn running" not in (await process.stderr.readline()).decode():
            assert process.returncode is None

    async def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    """Not started yet; ended whatever the test does."""
    server = HttpServer()
    yield server
    await server.kill()


@pytest.fixture(scope="module")
def kitchen() -> Iterator[str]:
    """The address of a server that nobody kills."""
    with kitchen_served() as url:
        yield url


@pytest.fixture
async def log() -> AsyncIterator[LogWatch]:
    watch = LogWatch()
    logger = logging.getLogger("voiceagent.tools.mcp_server")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(watch)
    yield watch
    logger.removeHandler(watch)
    logger.setLevel(before)


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[ToolSet]:
    tools = ToolSet.from_config([ToolEntry(mcp=McpSettings(**settings))], ROOT)
    await tools.open()
    try:
        yield tools
    finally:
        await tools.close()


async def said(tools: ToolSet, name: str, **arguments: Any) -> tuple[Any, bool]:
    outcome = await tools.run(name, json.dumps(arguments), 10)
    return json.loads(outcome.output), outcome.ok


async def check_tools(tools: ToolSet) -> None:
    """The program's tools work and fail as they should."""
    assert tools.names == ("add", "note", "cook", "flood", "leave", "learn", "whose")
    assert tools.schemas()[0]["function"] == {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    }
    assert await said(tools, "add", a=1, b="2") == ({"result": 3}, True)
    assert await said(tools, "add", a=1) == ({"error": "Wrong arguments: 'b' is a required property."}, False)
    assert await said(tools, "cook", dish="stone") == ({"error": "Stones are not cooked here."}, False)
    assert await said(tools, "flood") == ({"error": "The tool's result is too long."}, False)


async def test_a_program_brings_its_tools_and_is_given_only_the_variables_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITCHEN_KEY", "k1")
    async with opened(command=COMMAND, env=("KITCHEN_KEY",)) as tools:
        await check_tools(tools)
        assert await said(tools, "cook", dish="soup") == ({"dish": "soup", "secret": "k1"}, True)
        assert [tools.policy(name).effect for name in ("add", "note", "cook")] == ["none", "idempotent", "external"]


async def test_an_entry_chooses_tools_and_says_how_they_run(kitchen: str) -> None:
    rules = {
        "cook": RuleSettings(effect="idempotent", filler="Let me ask the kitchen.", confirm="Shall I cook {dish}?", timeout_s=3)
    }
    async with opened(url=kitchen, only=("cook", "add"), rules=rules) as tools:
        assert tools.names == ("add", "cook")
        assert tools.policy("cook") == ToolPolicy("idempotent", ("Let me ask the kitchen.",), "Shall I cook {dish}?", 3)
        assert tools.policy("add") == ToolPolicy("none")


async def test_a_program_that_dies_is_started_again(log: LogWatch) -> None:
    async with opened(command=COMMAND) as tools:
        await log.said("connected")
        output, ok = await said(tools, "leave")
        assert not ok
        assert output["error"] == "The connection to the tool leave was lost; it is not known whether it was done."
        assert await said(tools, "note", text="x") == ({"error": "The tool note cannot be reached just now."}, False)
        assert tools.names[0] == "add"
        await log.said("connected")
        assert await said(tools, "add", a=1, b=2) == ({"result": 3}, True)


async def test_a_server_behind_an_address_may_come_late_and_go_and_come_back(server: HttpServer, log: LogWatch) -> None:
    async with opened(url=server.url) as tools:
        assert tools.names == ()
        await server.start()
        await log.said("connected")
        await check_tools(tools)
        await server.kill()
        await log.said("tried again")
        assert (await said(tools, "add", a=1, b=2))[0] == {"error": "The tool add cannot be reached just now."}
        await server.start()
        await log.said("connected")
        assert await said(tools, "add", a=1, b=2) == ({"result": 3}, True)


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speak with servers as those of before 2026-07-28 want it."""
    monkeypatch.setattr("voiceagent.tools.mcp_server.Client", functools.partial(Client, mode="legacy"))


@pytest.mark.usefixtures("older")
async def test_a_call_without_effect_is_made_again_when_the_server_came_back_unnoticed(server: HttpServer, log: LogWatch) -> None:
    await server.start()
    async with opened(url=server.url) as tools:
        await log.said("connected")
        await server.kill()
        await server.start()
        assert await said(tools, "add", a=1, b=2) == ({"result": 3}, True)
        await log.said("connected")


@pytest.mark.usefixtures("older")
async def test_an_older_server_may_learn_too(log: LogWatch) -> None:
    async with opened(command=COMMAND) as tools:
        assert (await said(tools, "learn"))[1]
        await log.said("its tools changed")
        assert "bake" in tools.names


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_a_tool_that_a_server_learns_is_there(server: HttpServer, log: LogWatch, over: str) -> None:
    if over == "http":
        await server.start()
    settings: dict[str, Any] = {"url": server.url} if over == "http" else {"command": COMMAND}
    async with opened(**settings) as tools:
        assert (await said(tools, "learn"))[1]
        await log.said("its tools changed")
        assert await said(tools, "bake", cake="tart") == ({"result": "baked tart"}, True)


async def test_a_header_comes_from_the_environment_and_garbage_is_survived(
    log: LogWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITCHEN_TOKEN", "Bearer abc")
    asked: asyncio.Queue[str | None] = asyncio.Queue()

    async def garbage(request: web.Request) -> web.Response:
        asked.put_nowait(request.headers.get("Authorization"))
        return web.Response(text="<html>hello</html>", content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/mcp", garbage)
    async with (
        on_loopback(app) as url,
        opened(url=f"{url}/mcp", headers_env={"Authorization": "KITCHEN_TOKEN"}) as tools,
    ):
        assert await asked.get() == "Bearer abc"
        await log.said("tried again")
        assert tools.names == ()


@pytest.mark.parametrize("fault", ["long", "endless", "packed"])
async def test_no_more_of_an_answer_is_read_than_may_be(log: LogWatch, fault: str) -> None:
    sent = 0

    async def too_much(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        assert request.headers["Accept-Encoding"] == "identity"
        kind = "text/event-stream" if fault == "endless" else "application/json"
        answer = web.StreamResponse(headers={"Content-Type": kind})
        if fault == "packed":
            answer.headers["Content-Encoding"] = "gzip"
        await answer.prepare(request)
        piece = gzip.compress(bytes(MAX_ANSWER_BYTES)) if fault == "packed" else b"data: " + bytes(65_536)
        with suppress(ConnectionError):
            for _ in range(1000):
                await answer.write(piece)
                sent += len(piece)
        return answer

    app = web.Application()
    app.router.add_post("/mcp", too_much)
    async with on_loopback(app) as url, opened(url=f"{url}/mcp") as tools:
        said = await log.said("tried again")
        assert {"long": "more than", "endless": "SSE", "packed": "packed (gzip)"}[fault] in said
        assert tools.names == ()
    assert sent < 16 * MAX_ANSWER_BYTES  # what the kernel holds is sent, too


async def test_a_program_that_is_not_there_keeps_nothing_from_starting(log: LogWatch) -> None:
    async with opened(command=("/no/such/program",)) as tools:
        assert "FileNotFoundError" in await log.said("tried again")
        assert tools.names == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"only": ("fly",)}, "has no tool fly; its tools are: add, note"),
        ({"rules": {"cook": RuleSettings(confirm="Cook {it}?")}}, "tool cook: confirm holds {it}"),
        ({"command": COMMAND, "env": ("NOT_SET_ANYWHERE",)}, "NOT_SET_ANYWHERE; set it"),
        ({"url": "ftp://host/mcp"}, "expected http://"),
        ({"url": "http://me:secret@host/mcp"}, "without a password"),
        ({"url": "http://127.0.0.1:1/mcp", "headers_env": {"Authorization": "NOT_SET_ANYWHERE"}}, "NOT_SET_ANYWHERE; set it"),
    ],
)
async def test_an_entry_that_cannot_be_meant_is_refused_in_one_line(kitchen: str, settings: dict[str, Any], said: str) -> None:
    reached = {} if settings.keys() & {"command", "url"} else {"url": kitchen}
    with pytest.raises(ConfigError, match=said) as caught:
        async with opened(**settings, **reached):
            pass
    assert "\n" not in str(caught.value)


async def test_a_server_must_not_bring_a_name_that_is_taken(kitchen: str) -> None:
    @tool
    def add() -> None:
        """Add."""

    sources = ToolSet.from_config([ToolEntry(mcp=McpSettings(url=kitchen))], ROOT)._sources
    tools = ToolSet([add], sources)
    with pytest.raises(ConfigError, match="tool add: defined twice"):
        await tools.open()
