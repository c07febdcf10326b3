"""A connection that is stopped while it still has a request to answer."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from voiceagent.server.http.connection import HttpConnection

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def step() -> None:
    """Let the event loop go round once."""
    await asyncio.sleep(0)


class Doorman:
    """Lets everybody in."""

    def __init__(self) -> None:
        self.connections: list[HttpConnection] = []

    def admit(self, connection: HttpConnection) -> bool:
        self.connections.append(connection)
        return True

    def forget(self, connection: HttpConnection, reason: str = "") -> None:
        pass


async def test_an_answer_that_is_ready_when_the_stop_has_waited_long_enough_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        (connection,) = doorman.connections
        while connection._handler_waiter is None or not connection._handler_waiter.cancelled():
            await step()
        return web.Response(text="done")

    loop, doorman = asyncio.get_running_loop(), Doorman()
    http = web.Server(answer)
    server = await loop.create_server(lambda: HttpConnection(http, doorman, loop), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(REQUEST)
    await begun.wait()
    await doorman.connections[0].shutdown(0.01)
    answered = await reader.read()
    writer.close()
    server.close()
    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert [record.getMessage() for record in caplog.records] == []
