"""A second client of a running call: events over a WebSocket, without audio."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from voiceagent.json_types import JsonObject
from voiceagent.media.outgoing_events import READER, ReaderLimits
from voiceagent.media.websocket.outbox import CLOSED, READS_TOO_SLOWLY, Closing, Outbox, TextWire
from voiceagent.task_owner import TaskOwner

MAX_MESSAGES_IN = 512
TOO_MANY = 1008, "too many events wait to be read"


class WebSocketSideband:
    """Implements `Sideband`. `close` frees it."""

    def __init__(self, wire: TextWire, *, extras: bool = True, limits: ReaderLimits = READER) -> None:
        """See `Outbox` for `extras`."""
        self._wire = wire
        self._outbox = Outbox(wire, self._end, limits, extras=extras)
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._closing: Closing = CLOSED
        self._is_open = True
        self._tasks = TaskOwner()
        self._tasks.start_alone(self._outbox.run(), "events of a sideband")

    @property
    def is_open(self) -> bool:
        """True until its connection ends, or is to be ended."""
        return self._is_open

    @property
    def was_too_slow(self) -> bool:
        """True once it was ended because its client does not read."""
        return self._closing is READS_TOO_SLOWLY

    def receive(self, text: str) -> None:
        """Take one message of the client."""
        if len(self._waiting) >= MAX_MESSAGES_IN:
            self._end(TOO_MANY)
            return
        self._waiting.append(text)
        self._changed.set()

    def send_event(self, event: JsonObject) -> None:
        """See `Sideband.send_event`."""
        self._outbox.send(event)

    async def client_events(self) -> AsyncIterator[str]:
        """See `Sideband.client_events`."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if not self._is_open:
                return
            self._changed.clear()
            await self._changed.wait()

    def gone(self) -> None:
        """The connection has ended, or the call."""
        self._end(CLOSED)

    async def close(self) -> None:
        """Close the connection, once what waits was sent. May be called twice."""
        await self._outbox.drained()
        self._end(CLOSED)
        await self._tasks.close()
        await self._wire.close(*self._closing)

    def _end(self, closing: Closing) -> None:
        if self._is_open:
            self._is_open, self._closing = False, closing
            self._changed.set()
