"""Which of what was sent to a peer that keeps audio was played: marks stand behind pieces of it, and come back as they are
reached. Pure; times are seconds of any one clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.media.playout import Position

GRACE_S = 2.0
"""A mark that is so late will not come: what is before it counts as played when it must have been."""
FORGIVEN = 3
"""So many in a row, and the peer does not send marks: the next are waited for no longer, until one comes in time."""
MAX_REMEMBERED = 64
"""Marks that were waited for no longer."""


@dataclass(slots=True)
class _Mark:
    name: str
    positions: Sequence[Position]
    frames: int
    played_s: float
    """When all before it has been played, if the peer plays it as it comes."""


class Marks:
    """Those that are on their way. A mark of what was dropped since is stale: it comes back, but nothing was played."""

    def __init__(self, *, come_back: bool = True) -> None:
        """Where they do not `come_back`, what is before them counts as played when it must have been."""
        self.stale = 0
        self.missing = 0
        """Those that never came back."""
        self._waiting: deque[_Mark] = deque()
        self._given_up: dict[str, float] = {}
        """By name, until when those that were not waited for come in time."""
        self._count = 0
        self._come_back = come_back
        self._missing_in_a_row = 0 if come_back else FORGIVEN

    @property
    def frames(self) -> int:
        """How many frames are before marks that have not come back."""
        return sum(mark.frames for mark in self._waiting)

    @property
    def due_s(self) -> float | None:
        """When the oldest is given up; None where none is on its way."""
        grace_s = GRACE_S if self._missing_in_a_row < FORGIVEN else 0.0
        return self._waiting[0].played_s + grace_s if self._waiting else None

    def hold(self, reply_id: int) -> bool:
        """Whether something of the reply is before a mark that has not come back."""
        return any(position[0] == reply_id for mark in self._waiting for position in mark.positions)

    def put(self, positions: Sequence[Position], frames: int, played_s: float) -> str:
        """The name of a new mark behind these."""
        self._count += 1
        reply_id, clause, _ = positions[-1]
        name = f"{reply_id}.{clause}.{self._count}"
        self._waiting.append(_Mark(name, positions, frames, played_s))
        return name

    def reached(self, name: str, now_s: float) -> list[Position]:
        """It came back: what was played, and all before it."""
        if not any(mark.name == name for mark in self._waiting):
            self.stale += 1
            if self._come_back and now_s < self._given_up.pop(name, 0.0):
                self._missing_in_a_row = 0
            return []
        self._missing_in_a_row = 0
        played: list[Position] = []
        while self._waiting:
            mark = self._waiting.popleft()
            played += mark.positions
            if mark.name == name:
                break
        return played

    def overdue(self, now_s: float) -> list[Position]:
        """What counts as played because its mark is too late."""
        played: list[Position] = []
        while self.due_s is not None and now_s >= self.due_s:
            mark = self._waiting.popleft()
            played += mark.positions
            self._given_up[mark.name] = mark.played_s + GRACE_S
            if len(self._given_up) > MAX_REMEMBERED:
                del self._given_up[next(iter(self._given_up))]
            self.missing += self._come_back
            self._missing_in_a_row += 1
        return played

    def forget(self) -> None:
        """What they stand behind was dropped."""
        self._waiting.clear()
