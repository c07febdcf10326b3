"""Events that wait for a client that reads slowly: one queue, in order and bounded. All transports of client events use it. While
a client is slow, a delta joins the delta before it. Pure."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from voiceagent.json_types import JsonObject

TOO_SLOW = "too_slow"
"""The reason of the end of a connection whose client lets too much wait."""
AUDIO = "response.output_audio.delta"
MAX_JOINED = 32_768
"""The most characters of a joined event. Of audio that is half a second."""
_REPLACED: Mapping[str, str] = {"voiceagent.transcript.partial": "item_id", "voiceagent.heard": "item_id"}
"""Events that say all that the one before them has said, if this field is the same."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The limits of a client that reads slowly. Beyond them its connection is closed."""

    size_bytes: int = 4_194_304
    """The characters that may wait: about a minute of audio."""
    events: int = 512
    """The events that may wait: half of those that are told again to a client that is back, as others are on the way."""
    timeout_s: float = 10.0
    """A client that takes nothing for so long is given up."""


READER = ReaderLimits()


@dataclass(slots=True)
class _Waiting:
    event: JsonObject
    text: str
    size: int
    count: int = 1
    deltas: list[str] | None = None
    """Those that are joined, where they are more than one."""


class OutgoingEvents:
    """The events that one connection has not taken yet."""

    def __init__(self, limits: ReaderLimits) -> None:
        self.limits = limits
        self.last_id: object = None
        """The id of the last event that was taken."""
        self._waiting: deque[_Waiting] = deque()
        self._size = self._count = 0
        self._due = self._due_size = 0
        """The events, and their size, that were queued before the client could be slow. They may be many for one that is back."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """True once more waits than may, besides what was queued at once."""
        return self._size - self._due_size > self.limits.size_bytes or self._count - self._due > self.limits.events

    def put(self, event: JsonObject, *, joins: bool) -> None:
        """Queue an event. `joins`: the client is slow, so the event may become one with the last that waits. It has the id of
        the newer one then: a client that got it has got both."""
        self._count += 1
        if joins and self._waiting and self._join(self._waiting[-1], event):
            return
        text = encoded(event)
        size = len(text)
        self._waiting.append(_Waiting(event, text, size))
        self._size += size
        if not joins:
            self._due += 1
            self._due_size += size

    def take(self) -> str:
        """The next event, as JSON."""
        waiting = self._waiting.popleft()
        self._size -= waiting.size
        self._count -= waiting.count
        if not self._waiting:
            self._due = self._due_size = 0
        self.last_id = waiting.event.get("event_id", self.last_id)
        if waiting.deltas is None:
            return waiting.text
        join = _joined_audio if waiting.event["type"] == AUDIO else "".join
        return encoded({**waiting.event, "delta": join(waiting.deltas)})

    def clear(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
        self._size = self._count = self._due = self._due_size = 0

    def _join(self, last: _Waiting, event: JsonObject) -> bool:
        kind = event.get("type", "")
        if kind != last.event.get("type"):
            return False
        if (same := _REPLACED.get(kind)) is not None and event.get(same) == last.event.get(same):
            last.text = encoded(event)
            size = len(last.text)
        elif kind.endswith(".delta") and last.size + len(event["delta"]) <= MAX_JOINED and _place(event) == _place(last.event):
            last.deltas = [*(last.deltas or [last.event["delta"]]), event["delta"]]
            size = last.size + len(event["delta"])
        else:
            return False
        self._size += size - last.size
        last.event, last.size = event, size
        last.count += 1
        return True


def _place(delta: JsonObject) -> JsonObject:
    """The field names and values by which a delta says of what it is."""
    return {name: value for name, value in delta.items() if name not in ("event_id", "delta")}


def _joined_audio(pieces: list[str]) -> str:
    return base64.b64encode(b"".join(base64.b64decode(piece) for piece in pieces)).decode()


def encoded(event: JsonObject) -> str:
    """The event as JSON."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))
