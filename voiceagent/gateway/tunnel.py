"""A WebSocket between a client and a worker: once the worker has agreed to it, its bytes pass both ways as they are. So pings,
closes, limits and slow readers are the worker's business, as without a front. Each way holds little, and makes its sender wait
when the other end reads slowly."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import web

from voiceagent.gateway.upstream import PIECE, UpstreamAnswer
from voiceagent.server.http.connection import HttpConnection
from voiceagent.task_owner import TaskOwner, running

UNREAD_S = 15.0
"""A client that takes nothing for so long is cut off: its worker has given it up before that."""


class TunnelResponse(web.StreamResponse):
    """The response of a handler whose connection was a tunnel: nothing is left to be sent."""

    def __init__(self) -> None:
        super().__init__(status=101)
        self.force_close()

    @property
    def prepared(self) -> bool:
        """Always: the worker has answered."""
        return True

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing."""


async def carry(request: web.Request, answer: UpstreamAnswer, tasks: TaskOwner, vanished: asyncio.Event) -> web.StreamResponse:
    """Pass on what both sides send, until one of them ends, or the worker's machine has vanished. What a client sent last reaches
    the worker also when the client has gone by then: `tasks` own the tunnel, so the end of its handler does not cut it."""
    connection, transport = request.protocol, request.transport
    if transport is None or not isinstance(connection, HttpConnection):
        await answer.close()
        return TunnelResponse()
    from_client = asyncio.StreamReader(limit=PIECE)
    from_client.set_transport(transport)
    connection.divert(from_client)
    lines = [f"HTTP/1.1 101 {answer.reason}", *(f"{name}: {value}" for name, value in answer.headers)]
    transport.write("".join(f"{line}\r\n" for line in (*lines, "")).encode("utf-8", "surrogateescape"))
    await asyncio.shield(tasks.start(_carry(connection, transport, from_client, answer, vanished), "tunnel of a WebSocket"))
    return TunnelResponse()


async def _carry(
    connection: HttpConnection,
    transport: asyncio.Transport,
    from_client: asyncio.StreamReader,
    answer: UpstreamAnswer,
    vanished: asyncio.Event,
) -> None:
    """Ends when the worker has ended or vanished, or when the client has gone and all that it sent has been passed on."""
    try:
        async with (
            running(_up(from_client, answer.writer), "to a worker") as up,
            running(_down(answer.reader, connection, transport), "to a client") as down,
            running(vanished.wait(), "vanishing of a worker") as gone,
        ):
            await asyncio.wait((up, down, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        transport.close()
        if vanished.is_set():
            answer.writer.transport.abort()  # it would wait until all was acknowledged
        await answer.close()


async def _up(from_client: asyncio.StreamReader, worker: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await from_client.read(PIECE):
            worker.write(data)
            await worker.drain()


async def _down(worker: asyncio.StreamReader, connection: HttpConnection, transport: asyncio.Transport) -> None:
    with contextlib.suppress(OSError):
        while data := await worker.read(PIECE):
            transport.write(data)
            try:
                async with asyncio.timeout(UNREAD_S):
                    await connection.drained()
            except TimeoutError:
                transport.abort()
                return
