"""An answer as Server-Sent Events (HTML Living Standard, section 9.2). Each event is one JSON object in one line; its number is
the id by which a reader goes on after a lost connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TypeVar

from aiohttp import hdrs, web

from voiceagent.json_types import JsonObject
from voiceagent.server.calls.calls import KEY_REVOKED
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.app import CORS, KEYS
from voiceagent.task_owner import running

T = TypeVar("T")

ALIVE_EVERY_S = 15.0
"""A comment is sent in a silence of so long, so that proxies keep the connection."""
LOOKED_EVERY_S = 1.0
"""The interval at which a waiting answer looks whether its reader is still there."""
READ_TIMEOUT_S = 10.0
"""A reader that takes nothing for so long is given up."""
GOODBYE_S = 1.0
MAX_UNREAD_BYTES = 64 * 1024
"""Bytes that wait for the socket; more makes the writer wait."""


class SlowReaderError(Exception):
    """The reader takes nothing."""


class StreamClosedError(Exception):
    """No more events come, for this reason."""


class EventStream:
    """One answer that is being sent. Its methods raise ConnectionError once the reader has gone."""

    def __init__(
        self, request: web.Request, headers: Mapping[str, str], check: Callable[[], None] = lambda: None, prefix: bytes = b""
    ) -> None:
        """`check` raises what ends the answer; it is called every second, and before each wait. `prefix` stands before the
        numbers of the events."""
        self._request = request
        self._check = check
        self._prefix = prefix
        own = {hdrs.CACHE_CONTROL: "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        self.response = web.StreamResponse(headers={**headers, **own})
        self.response.content_type = "text/event-stream"
        self.response.charset = "utf-8"

    async def begin(self) -> None:
        """Send the head."""
        await self.response.prepare(self._request)
        if self._request.transport is not None:
            self._request.transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)

    async def send(self, events: Iterable[tuple[int, bytes]]) -> None:
        """Send events, each with its number, 0 for one without. Raises SlowReaderError."""
        await self._write(b"".join(_event(number, data, self._prefix) for number, data in events))

    async def awaited(self, work: Coroutine[object, None, T]) -> T:
        """The result of work, during which the connection is kept alive. Raises SlowReaderError."""
        silent_s = 0.0
        async with running(work, "events") as task:
            self._check()
            while not (await asyncio.wait((task,), timeout=LOOKED_EVERY_S))[0]:
                silent_s += LOOKED_EVERY_S
                self._check()
                if self._request.transport is None or self._request.transport.is_closing():
                    raise ConnectionResetError("the reader has gone")
                if silent_s >= ALIVE_EVERY_S:
                    silent_s = 0.0
                    await self._write(b": alive\n\n")
            return task.result()

    async def end(self, last: JsonObject | None = None) -> web.StreamResponse:
        """End the answer, after a last event if it is not over by itself. A reader that does not take even that is
        disconnected."""
        try:
            async with asyncio.timeout(GOODBYE_S):
                if last is not None:
                    await self.response.write(_event(0, json.dumps(last).encode()))
                await self.response.write_eof()
        except (TimeoutError, ConnectionError):
            if self._request.transport is not None:
                self._request.transport.abort()
        return self.response

    async def _write(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                await self.response.write(data)
        except TimeoutError as error:
            raise SlowReaderError from error


def stream_for_key(request: web.Request) -> EventStream:
    """An answer that StreamClosedError ends once the key of its reader is revoked."""
    keys, client = request.app[KEYS], request[CLIENT]

    def check() -> None:
        if not keys.knows(client):
            raise StreamClosedError(KEY_REVOKED)

    return EventStream(request, request.app[CORS](request), check)


def _event(number: int, data: bytes, prefix: bytes = b"") -> bytes:
    return b"id: %b%d\ndata: %b\n\n" % (prefix, number, data) if number else b"data: %b\n\n" % data
