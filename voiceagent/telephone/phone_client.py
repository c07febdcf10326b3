"""The client of a telephone call. A telephone has no event channel: its leg says in the client's place what the caller keyed
in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence

from voiceagent.telephone.pressed_keys import ClientEvent, PressedKeys

MAX_WAITING = 64


class PhoneClient:
    """A bounded queue of client events, as JSON, with one reader."""

    def __init__(self) -> None:
        self.keys = PressedKeys(self._put)
        self.dropped = 0
        """How often a group of events found no room."""
        self._waiting: deque[ClientEvent] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def end(self) -> None:
        """The connection ended. The reader gets what waits, and nothing more. May be called twice."""
        self._ended = True
        self.keys.close()
        self._changed.set()

    async def events(self) -> AsyncIterator[str]:
        """The events in order, until `end`."""
        while True:
            while self._waiting:
                event = self._waiting.popleft()
                if isinstance(event, str):
                    yield event
                else:
                    event()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def _put(self, events: Sequence[ClientEvent]) -> None:
        if len(self._waiting) + len(events) > MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.extend(events)
        self._changed.set()
