"""Connections to MCP servers: to a program over its standard input and output, or to an address by streamable HTTP. Either way
the end of the connection is noticed at once, and not only by the next call."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams

CONNECT_TIMEOUT_S = 10.0
SILENCE_TIMEOUT_S = 300.0
"""A server that streams sends something more often than this."""

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


@asynccontextmanager
async def address(url: str, headers: dict[str, str]) -> AsyncIterator[TransportStreams]:
    """Connect to the server at `url`."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=SILENCE_TIMEOUT_S)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
