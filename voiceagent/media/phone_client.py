"""The client of a telephone call. A telephone has no event channel: its leg says in the client's place what the caller keyed
in."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence

from voiceagent.json_types import JsonObject
from voiceagent.media.pressed_keys import ANSWER, PressedKeys, message

MAX_WAITING = 64


class PhoneClient:
    """A bounded queue of client events, as JSON, with one reader."""

    def __init__(self) -> None:
        self.keys = PressedKeys(self._put)
        self.dropped = 0
        """How often events that belong together found no room."""
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def type(self, text: str) -> None:
        """Say something in the caller's place, to be answered."""
        self._put((message(text), ANSWER))

    def answer(self, call_id: str, output: JsonObject) -> None:
        """Give a tool's result; the turn engine then lets the model go on."""
        item = {"type": "function_call_output", "call_id": call_id, "output": json.dumps(output)}
        self._put((json.dumps({"type": "conversation.item.create", "item": item}),))

    def end(self) -> None:
        """The connection ended: the reader gets what waits, and no more. May be called twice."""
        self._ended = True
        self.keys.close()
        self._changed.set()

    async def events(self) -> AsyncIterator[str]:
        """The events in order, until `end`."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def _put(self, events: Sequence[str]) -> None:
        if len(self._waiting) + len(events) > MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.extend(events)
        self._changed.set()
