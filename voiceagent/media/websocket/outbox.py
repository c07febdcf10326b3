"""Events on their way to a client over a WebSocket. A client that does not read is closed, with a code and a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from voiceagent.json_types import JsonObject
from voiceagent.media.outgoing_events import OutgoingEvents, ReaderLimits

DRAIN_S = 2.0
CLOSED = 1000, ""
READS_TOO_SLOWLY = 1008, "too_slow: the client does not read its events in time"
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

    def __init__(self, wire: TextWire, on_end: Callable[[Closing], None], limits: ReaderLimits, *, extras: bool = True) -> None:
        """`on_end` is called when nothing can be sent any more. Without `extras`, our own events are left out."""
        self.extras = extras
        self._wire = wire
        self._on_end = on_end
        self._events = OutgoingEvents(limits)
        self._is_sending = False
        """True while the WebSocket takes no more than the event that is on its way."""
        self._changed = asyncio.Event()
        self._sent = asyncio.Event()
        self._is_open = True

    def send(self, event: JsonObject) -> None:
        """Queue one event."""
        if not self._is_open or (not self.extras and event["type"].startswith(EXTRAS)):
            return
        self._events.put(event, joins=self._is_sending)
        self._changed.set()
        if self._events.is_full:
            self._end(READS_TOO_SLOWLY)

    async def run(self) -> None:
        """Send what is queued, until that fails or this is cancelled."""
        try:
            while self._is_open:
                while self._events:
                    self._is_sending = True
                    async with asyncio.timeout(self._events.limits.timeout_s):
                        await self._wire.send(self._events.take())
                    self._is_sending = False
                self._sent.set()
                self._changed.clear()
                await self._changed.wait()
        except ConnectionError:
            self._end(CLOSED)
        except TimeoutError:
            self._end(READS_TOO_SLOWLY)

    async def drained(self) -> None:
        """Wait until all is sent, for two seconds at most."""
        try:
            async with asyncio.timeout(DRAIN_S):
                while (self._events or self._is_sending) and self._is_open:
                    self._sent.clear()
                    await self._sent.wait()
        except TimeoutError:
            pass

    def _end(self, closing: Closing) -> None:
        if self._is_open:
            self._is_open = False
            self._events.clear()
            self._changed.set()
            self._sent.set()
            self._on_end(closing)
