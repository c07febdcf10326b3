"""What a telephone's caller keys in, as the messages of a client: a number is a message that was typed and asks for one back."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator

from voiceagent.json_types import JsonObject
from voiceagent.telephony.keypad import Keypad

MAX_WAITING = 64


class PhoneClient:
    """A queue of a client's messages: what is keyed in, and whatever else the leg has to say in the client's place."""

    def __init__(self) -> None:
        self.dropped = 0
        self._loop = asyncio.get_running_loop()
        self._keypad = Keypad()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def press(self, key: str) -> None:
        """A key was pressed."""
        self._typed(self._keypad.press(key, self._loop.time()))
        if self._timer is None and not self._ended:
            self._arm()

    def type(self, text: str) -> None:
        """Say something in the caller's place, to be answered."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        self._put({"type": "conversation.item.create", "item": item}, {"type": "response.create"})

    def answer(self, call_id: str, output: JsonObject) -> None:
        """A tool's result; what comes of it is said."""
        item = {"type": "function_call_output", "call_id": call_id, "output": json.dumps(output)}
        self._put({"type": "conversation.item.create", "item": item})

    async def messages(self) -> AsyncIterator[str]:
        """In order; ends with `end`."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._changed.set()

    def _arm(self) -> None:
        due_s = self._keypad.due_s
        self._timer = self._loop.call_at(due_s, self._poll) if due_s is not None else None

    def _poll(self) -> None:
        self._typed(self._keypad.poll(self._loop.time()))
        self._arm()

    def _typed(self, keys: str) -> None:
        if keys:
            self.type(keys)

    def _put(self, *messages: JsonObject) -> None:
        if len(self._waiting) + len(messages) > MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.extend(map(json.dumps, messages))
        self._changed.set()
