"""An MCP server as a source of tools: a program, over its standard input and output, or an address, by streamable HTTP. It is
connected once and kept connected; its tools are read when it connects and whenever it reports a change. The end of the connection
is noticed at once, and not only by the next call. While the server is away its tools stay, and answer with one readable
sentence."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, cast

import anyio
import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    TextContent,
    ToolListChangedNotification,
)
from mcp_types import Tool as McpToolDescription
from typing_extensions import override

from voiceagent import __version__
from voiceagent.errors import ConfigError
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner
from voiceagent.tools.call_context import META
from voiceagent.tools.schemas import ArgumentSchema, Room, SchemaTool
from voiceagent.tools.settings import McpSettings, RuleSettings, checked_url, headers_from, variables_from
from voiceagent.tools.tool import MAX_TOOLS, NAME, Effect, RunScope, Tool, ToolError, ToolSource, check_policy
from voiceagent.untrusted_json import read_loose_json

log = logging.getLogger(__name__)


if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp_types import RequestParamsMeta

CONNECT_TIMEOUT_S = 10.0
SILENCE_TIMEOUT_S = 300.0
"""A server that streams sends something more often than this."""
MAX_ANSWER_BYTES = 1_048_576
"""The most bytes of an answer, or of one event of a stream."""

Message = SessionMessage | Exception


class _UntilEnd:
    """A stream of messages that reports its end. It is what the mcp package calls a ReadStream."""

    def __init__(self, stream: ReadStream[Message], ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> object:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Message:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _UntilEnd:
        return self

    async def __anext__(self) -> Message:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended()
            raise

    async def __aenter__(self) -> _UntilEnd:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[TransportStreams], ended: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """The transport; it calls `ended` when no more messages will come."""
    async with transport as (incoming, outgoing):
        yield _UntilEnd(incoming, ended), outgoing


def program(command: tuple[str, ...], environment: dict[str, str], folder: Path) -> AbstractAsyncContextManager[TransportStreams]:
    """Start a program in `folder` and connect to it; `python` means the interpreter that we run with. Its standard error goes to
    ours."""
    executable = sys.executable if command[0] == "python" else command[0]
    parameters = StdioServerParameters(command=executable, args=list(command[1:]), env=environment, cwd=folder)
    return stdio_client(parameters, errlog=sys.stderr)


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer, as far as it may be read. A stream of events is not counted: the mcp package bounds each event."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = response.stream
        self._coding = response.headers.get("content-encoding", "identity")
        self._is_counted = not response.headers.get("content-type", "").lower().startswith("text/event-stream")

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._coding != "identity":
            raise httpx2.StreamError(f"the answer is packed ({self._coding[:40]}), which was not asked for")
        size = 0
        async for piece in cast("httpx2.AsyncByteStream", self._stream):
            size += len(piece)
            if self._is_counted and size > MAX_ANSWER_BYTES:
                raise httpx2.StreamError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
            yield piece

    @override
    async def aclose(self) -> None:
        await cast("httpx2.AsyncByteStream", self._stream).aclose()


async def _bound(response: httpx2.Response) -> None:
    response.stream = _BoundedBody(response)


@asynccontextmanager
async def address(url: str, headers: dict[str, str]) -> AsyncIterator[TransportStreams]:
    """Connect to the server at `url`. Its answers are bounded, and must not be packed: a few bytes can unpack to very many."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=SILENCE_TIMEOUT_S)
    given = {**headers, "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(headers=given, timeout=timeout, event_hooks={"response": [_bound]}) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES) as streams,
    ):
        yield streams


MAX_PROBLEM_CHARACTERS = 300


def read_result(tool: str, result: CallToolResult) -> object:
    """The structured result if there is one; else the text, read as JSON where it is JSON. Pictures and sounds cannot be said and
    are left out. Raises ToolError when the server says that the tool failed."""
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent)).strip()
    if result.is_error:
        why = text.removeprefix(f"Error executing tool {tool}: ")
        raise ToolError(why[:MAX_PROBLEM_CHARACTERS] or f"The tool {tool} failed.")
    if result.structured_content is not None:
        return result.structured_content
    if result.content and not text:
        raise ToolError(f"The tool {tool} answered with what cannot be said.")
    try:
        return read_loose_json(text)
    except ValueError:
        return text


# --- the server -------------------------------------------------------------------------------------------------------

FIRST_BACK_OFF_S = 0.25
LONGEST_BACK_OFF_S = 30.0
STEADY_S = 10.0
"""A connection that lasted this long was a good one: the next back-off begins anew."""
CLOSING_S = 8.0
"""Longest wait for a program to end; after that it is abandoned."""
AGAIN_WITHIN_S = 3.0
"""If a connection is lost during a call without effect, the call is made again over a new connection that comes up within this
time."""
MAX_PAGES = 16
MAX_DESCRIPTION_CHARACTERS = 2000
MAX_SERVER_PARTS = 16_000
MAX_SERVER_BYTES = 262_144
"""The most JSON in bytes of the schemas of a server's tools, with their references resolved."""


class McpTool(SchemaTool):
    """One tool of a server."""

    def __init__(self, server: McpServer, described: McpToolDescription, settings: RuleSettings, room: Room) -> None:
        """The tool takes its part of `room`. Raises ConfigError when the settings do not fit the tool, ValueError when its schema
        cannot be used."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", described.name)[:64]
        if not NAME.fullmatch(name):
            raise ValueError(f"its name {described.name!r:.80} does not begin with a letter")
        self._server = server
        self._called = described.name
        arguments = ArgumentSchema(described.input_schema, room=room)
        text = described.description or described.title or described.name
        description = " ".join(text.split())[:MAX_DESCRIPTION_CHARACTERS]
        super().__init__(name, description, settings.policy(_effect(described)), arguments)
        check_policy(self.name, self.policy, self.parameters["properties"])

    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        """Let the server run it. Raises ToolError."""
        return await self._server.call(self._called, given, scope.call.facts, again=self.policy.effect != "external")


def _effect(described: McpToolDescription) -> Effect:
    hints = described.annotations
    if hints is not None and hints.read_only_hint:
        return "none"
    return "idempotent" if hints is not None and hints.idempotent_hint else "external"


class McpServer(ToolSource):
    """One server. Its connection lives in a task of its own, from `open` to `close`."""

    def __init__(
        self,
        settings: McpSettings,
        base_dir: Path,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`headers` are sent besides those that the settings name. Raises ConfigError."""
        super().__init__()
        self._connect_timeout_s = connect_timeout_s
        self._settings = settings
        self._base_dir = base_dir
        self._who = f"mcp {settings.label}"
        if settings.url:
            checked_url(self._who, settings.url)
        self._headers = {**headers_from(self._who, settings.headers_env), **(headers or {})}
        self._environment = variables_from(self._who, settings.env)
        self._client: Client | None = None
        self._connected = asyncio.Event()
        self._over = asyncio.Event()
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._tasks = TaskOwner()

    async def open(self) -> None:
        """Start to connect, and wait until the first attempt has ended, successful or not. Raises ConfigError when the entry does
        not fit the server."""
        tried: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        keeper = self._tasks.start(self._keep(tried), self._who)
        await asyncio.wait([keeper, tried], return_when=asyncio.FIRST_COMPLETED)
        if tried.done():
            tried.result()

    @property
    def is_connected(self) -> bool:
        """True while it can be called."""
        return self._client is not None

    async def close(self) -> None:
        """Disconnect; a program is ended."""
        self._closing.set()
        self._over.set()
        await self._tasks.finished(CLOSING_S)
        if self._tasks:
            log.warning("%s: does not end within %.0f s; it is let go of", self._who, CLOSING_S)
        await self._tasks.close()

    async def call(self, tool: str, given: dict[str, object], facts: JsonObject, *, again: bool) -> object:
        """Let the server run a tool; it is told the call's `facts` where the settings ask for it. If the connection is lost
        meanwhile, the call is made once more over a new one, if `again` is set or if the tool cannot have run yet. Raises
        ToolError."""
        meta = cast("RequestParamsMeta", {META: facts}) if self._settings.call else None
        for last in (False, True):
            client = self._client
            if client is None:
                raise ToolError(f"The tool {tool} cannot be reached just now.")
            try:
                return read_result(tool, await client.call_tool(tool, given, meta=meta))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
                lost: Exception = error
                refused = False
            except MCPError as error:
                lost, refused = error, _says_refused(error)
                if error.code != CONNECTION_CLOSED and not refused:
                    raise ToolError(f"The tool {tool} failed: {error.message[:300]}.") from error
            self._lost(client)
            if not again and not refused:
                raise ToolError(f"The connection to the tool {tool} was lost; it is not known whether it was done.") from lost
            if not last:
                await _wait(self._connected, AGAIN_WITHIN_S)
        raise ToolError(f"The tool {tool} cannot be reached just now.")

    def _lost(self, client: Client) -> None:
        """Called by whoever notices that a connection is lost; only the present connection counts."""
        if client is self._client:
            self._client = None
            self._connected.clear()
            self._over.set()

    async def _keep(self, tried: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        back_off_s = FIRST_BACK_OFF_S
        while not self._closing.is_set():
            began_s = loop.time()
            try:
                await self._connect(tried)
                why = "the connection was lost"
            except Exception as error:  # noqa: BLE001 - whatever a server or its program does, it is tried again
                why = _reason(error)
            finally:
                self._client = None
                self._connected.clear()
            if self._closing.is_set():
                break
            if loop.time() - began_s > STEADY_S:
                back_off_s = FIRST_BACK_OFF_S
            log.warning("%s: %s; tried again in %.1f s", self._who, why, back_off_s)
            if not tried.done():
                tried.set_result(None)
            await _wait(self._closing, back_off_s)
            back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)

    async def _connect(self, tried: asyncio.Future[None]) -> None:
        """One connection, from its beginning to its end."""
        self._over.clear()
        settings = self._settings
        reached = address(settings.url, self._headers) if settings.url else self._program()
        async with (
            asyncio.timeout(self._connect_timeout_s) as deadline,
            Client(
                watched(reached, self._over.set),
                message_handler=self._told,
                client_info=Implementation(name="voiceagent", version=__version__),
                cache=None,
            ) as client,
        ):
            described = await _described(client)
            deadline.reschedule(None)
            try:
                self._tools = await asyncio.to_thread(self._taken, described, strict=not tried.done())
            except ConfigError as error:
                self._closing.set()
                tried.set_exception(error)
                return
            log.info("%s: connected, %d tools", self._who, len(self._tools))
            self._client = client
            self._connected.set()
            if not tried.done():
                tried.set_result(None)
            if not self._closing.is_set():
                await self._until_over(client)

    def _program(self) -> AbstractAsyncContextManager[TransportStreams]:
        return program(self._settings.command, self._environment, self._base_dir)

    async def _until_over(self, client: Client) -> None:
        async with asyncio.TaskGroup() as group:
            watchers = [group.create_task(self._listen(client)), group.create_task(self._read_again(client))]
            await self._over.wait()
            for watcher in watchers:
                watcher.cancel()

    async def _told(self, message: object) -> None:
        """Servers older than 2026-07-28 report changes without being asked."""
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _listen(self, client: Client) -> None:
        """Servers since then report changes over a stream that the client opens; the stream's end is the connection's end."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed.set()
        except ListenNotSupportedError:
            return
        except SubscriptionLost:
            log.debug("%s: its stream of changes ended", self._who)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED and not _says_refused(error):
                log.debug("%s: tells of no changes (%s)", self._who, error.message)
                return
        self._lost(client)

    async def _read_again(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                self._tools = await asyncio.to_thread(self._taken, await _described(client), strict=False)
            except MCPError as error:
                log.warning("%s: its tools changed, but cannot be read (%s)", self._who, error.message)
            else:
                log.info("%s: its tools changed, there are %d", self._who, len(self._tools))

    def _taken(self, described: list[McpToolDescription], *, strict: bool) -> tuple[Tool, ...]:
        """The tools that the entry takes. With `strict`, an entry that does not fit raises ConfigError; otherwise it is
        logged."""
        offered = [tool.name for tool in described]
        for name in (*self._settings.only, *self._settings.rules):
            if name not in offered:
                problem = f"{self._who}: has no tool {name}; its tools are: {', '.join(offered) or 'none'}"
                if strict:
                    raise ConfigError(problem)
                log.warning("%s", problem)
        tools: dict[str, Tool] = {}
        room = Room(
            MAX_SERVER_PARTS, MAX_SERVER_BYTES, f"a server's tools may take {MAX_SERVER_PARTS} parts and {MAX_SERVER_BYTES} bytes"
        )
        for tool in described:
            if self._settings.only and tool.name not in self._settings.only:
                continue
            try:
                made = McpTool(self, tool, self._settings.rules.get(tool.name, RuleSettings()), room)
            except ValueError as error:
                log.warning("%s: the tool %s is left out: its schema %s", self._who, tool.name, error)
                continue
            except ConfigError as error:
                if strict:
                    raise
                log.warning("%s: the tool %s is left out: %s", self._who, tool.name, error)
                continue
            tools.setdefault(made.name, made)
        return tuple(tools.values())


async def _described(client: Client) -> list[McpToolDescription]:
    """All tools that the server offers, as far as there is room."""
    described: list[McpToolDescription] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        described += page.tools
        cursor = page.next_cursor
        if cursor is None or len(described) > MAX_TOOLS:
            break
    return described[:MAX_TOOLS]


def _says_refused(error: MCPError) -> bool:
    """True if the server does not know the session, because it was restarted. Then it has done nothing of the request. There is
    no single code for that; these are the codes of servers built on the official packages."""
    return error.code in (INVALID_REQUEST, REQUEST_TIMEOUT) and "session" in error.message.lower()


def _reason(error: BaseException) -> str:
    """The one line inside a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
