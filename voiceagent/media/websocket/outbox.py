"""Events on their way to a client over a WebSocket: one bounded queue, in order. A client that does not read is closed, with a
code and a reason."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Protocol

from voiceagent.json_types import JsonObject

MAX_BYTES = 4_194_304
"""The bytes that may wait for a client that reads slowly: about a minute of audio."""
SEND_TIMEOUT_S = 10.0
DRAIN_S = 2.0
CLOSED = 1000, ""
TOO_SLOW = 1008, "the client reads too slowly"
EXTRAS = "voiceagent."
"""The beginning of the names of events that are ours."""

Closing = tuple[int, str]
"""A close code, and the reason in words."""


class TextWire(Protocol):
    """The WebSocket."""

    async def send(self, message: str) -> None:
        """Send one message; waits where the client does not read. Raises ConnectionError when it is closed."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Close it. May be called twice."""
        ...


class Outbox:
    """One per WebSocket. `run` is a task of its own."""

    def __init__(self, wire: TextWire, on_end: Callable[[Closing], None], *, extras: bool = True) -> None:
        """`on_end` is called when nothing can be sent any more. Without `extras`, our own events are left out."""
        self.extras = extras
        self._wire = wire
        self._on_end = on_end
        self._waiting: deque[str] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._sent = asyncio.Event()
        self._is_open = True

    def send(self, event: JsonObject) -> None:
        """Queue one event."""
        if not self._is_open or (not self.extras and event["type"].startswith(EXTRAS)):
            return
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        self._waiting.append(text)
        self._bytes += len(text)
        self._changed.set()
        if self._bytes > MAX_BYTES:
            self._end(TOO_SLOW)

    async def run(self) -> None:
        """Send what is queued, until that fails or this is cancelled."""
        try:
            while self._is_open:
                while self._waiting:
                    text = self._waiting[0]
                    async with asyncio.timeout(SEND_TIMEOUT_S):
                        await self._wire.send(text)
                    if self._waiting:  # else it was too much, meanwhile
                        self._waiting.popleft()
                    self._bytes -= len(text)
                self._sent.set()
                self._changed.clear()
                await self._changed.wait()
        except ConnectionError:
            self._end(CLOSED)
        except TimeoutError:
            self._end(TOO_SLOW)

    async def drained(self) -> None:
        """Wait until all is sent, for two seconds at most."""
        try:
            async with asyncio.timeout(DRAIN_S):
                while self._waiting and self._is_open:
                    self._sent.clear()
                    await self._sent.wait()
        except TimeoutError:
            pass

    def _end(self, closing: Closing) -> None:
        if self._is_open:
            self._is_open = False
            self._waiting.clear()
            self._changed.set()
            self._sent.set()
            self._on_end(closing)
