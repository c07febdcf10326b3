"""A telephone's keys as a client's events: the first of a number stops the agent's voice, a whole number is a message that was
typed and a request for its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from voiceagent.telephone.keypad import Keypad, KeyRule

STOP = json.dumps({"type": "output_audio_buffer.clear"})
ANSWER = json.dumps({"type": "response.create"})


ClientEvent = str | Callable[[], None]
"""JSON, or what is done when its turn comes."""


class PressedKeys:
    """Of one leg. `close` frees its timer."""

    def __init__(self, emit: Callable[[Sequence[ClientEvent]], None]) -> None:
        """`emit` takes client events that belong together."""
        self.commands: dict[str, Callable[[], None]] = {}
        """What is done, in place of a message, where the caller presses such a key alone and was asked for no number."""
        self._emit = emit
        self._keypad = Keypad()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def collect(self, rule: KeyRule) -> None:
        """The next number ends by this rule."""
        self._keypad.collect(rule)

    def press(self, key: str) -> None:
        """A key was pressed."""
        is_first, is_asked = self._keypad.due_s is None, self._keypad.is_asked
        typed = self._typed(self._keypad.press(key, self._loop.time()), is_asked=is_asked)
        events = (STOP, *typed) if is_first else typed
        if events:
            self._emit(events)
        self._watch()

    def close(self) -> None:
        """No key comes any more. May be called twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self) -> None:
        self.close()
        due_s = self._keypad.due_s
        if due_s is not None:
            self._timer = self._loop.call_at(due_s, self._on_due)

    def _on_due(self) -> None:
        self._timer = None
        is_asked = self._keypad.is_asked
        number = self._keypad.poll(self._loop.time())
        if not number:  # the timer was a hair early
            self._watch()
        elif events := self._typed(number, is_asked=is_asked):
            self._emit(events)

    def _typed(self, number: str, *, is_asked: bool) -> tuple[ClientEvent, ...]:
        if number in self.commands and not is_asked:
            return (self.commands[number],)
        return (message(number), ANSWER) if number else ()


def message(text: str) -> str:
    """The event with which a client types a message."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return json.dumps({"type": "conversation.item.create", "item": item})
