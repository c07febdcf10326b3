"""A telephone's keys as a client's events. A telephone has no event channel: its leg says in the client's place what the caller
keyed in. The first key of a number stops the agent's voice; a whole number is a message that was typed, and a request for its
answer."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

TERMINATOR = "#"
PAUSE_S = 2.0
MAX_KEYS = 32
"""The most keys of a number; a longer one ends there."""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """The ends of a number: a key, a count of keys or a pause, whichever comes first."""

    terminator: str = TERMINATOR
    """The key that ends it and is no part of it; empty: no key does."""
    max_keys: int = MAX_KEYS
    pause_s: float = PAUSE_S
    """The time without a key that ends it."""


UNASKED = KeyRule()
"""The rule for a number that the agent did not ask for."""


class Keypad:
    """Collects keys. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._keys = ""
        self._due_s = 0.0
        self._rule = UNASKED
        self._spare = ("", 0.0)
        """The terminator of the number that its last key has just ended, and the time until which it may follow."""

    @property
    def due_s(self) -> float | None:
        """The time at which to call `poll`; None while no key waits."""
        return self._due_s if self._keys else None

    @property
    def is_asked(self) -> bool:
        """True if the agent has asked for the number that is being keyed in, or for the next one."""
        return self._rule is not UNASKED

    def collect(self, rule: KeyRule) -> None:
        """Use this rule for the number that is being keyed in, or for the next one."""
        self._rule = rule

    def is_spare(self, key: str, now_s: float) -> bool:
        """True for a terminator behind a number that needed none: callers press it out of habit."""
        spare, until_s = self._spare
        self._spare = ("", 0.0)
        return key == spare and not self._keys and now_s < until_s

    def press(self, key: str, now_s: float) -> str:
        """A key was pressed. Returns the number that it completes, or nothing. If the agent asked for a number, the terminator
        alone completes one: it says that there is no number."""
        ends = key == self._rule.terminator
        if ends and self._keys:
            return self._end()
        self._keys += key
        self._due_s = now_s + self._rule.pause_s
        if len(self._keys) >= self._rule.max_keys and not ends:
            self._spare = (self._rule.terminator, now_s + PAUSE_S)
            return self._end()
        return self._end() if ends and self._rule is not UNASKED else ""

    def poll(self, now_s: float) -> str:
        """The number that is complete because no key has come for long enough; empty if none is."""
        return self._end() if self._keys and now_s >= self._due_s else ""

    def _end(self) -> str:
        keys, self._keys, self._rule = self._keys, "", UNASKED
        return keys


STOP = json.dumps({"type": "output_audio_buffer.clear"})
ANSWER = json.dumps({"type": "response.create"})


ClientEvent = str | Callable[[], None]
"""JSON, or what is done when its turn comes."""


class PressedKeys:
    """The keys of one leg. `close` frees its timer."""

    def __init__(self, emit: Callable[[Sequence[ClientEvent]], None]) -> None:
        """`emit` takes client events that belong together."""
        self.on_press: Callable[[str], None] = lambda key: None
        """Called with each key."""
        self.hide: Callable[[str], str] = str
        """Takes out of a number what nobody may read."""
        self._commands: dict[str, Callable[[], None]] = {}
        self._emit = emit
        self._keypad = Keypad()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def collect(self, rule: KeyRule) -> None:
        """The next number ends by this rule."""
        self._keypad.collect(rule)

    def on_key(self, key: str, do: Callable[[], None]) -> None:
        """Do this, in place of a message, where the caller presses such a key alone and was asked for no number."""
        self._commands[key] = do

    def press(self, key: str) -> None:
        """A key was pressed."""
        self.on_press(key)
        if self._keypad.is_spare(key, self._loop.time()):
            return
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
        if number in self._commands and not is_asked:
            return (self._commands[number],)
        return (message(self.hide(number)), ANSWER) if number else ()


def message(text: str) -> str:
    """The event with which a client types a message."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return json.dumps({"type": "conversation.item.create", "item": item})


MAX_WAITING = 64


class PhoneClient:
    """A bounded queue of client events, as JSON, with one reader."""

    def __init__(self) -> None:
        self.keys = PressedKeys(self._put)
        self.dropped = 0
        """The number of event groups that found no room."""
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
