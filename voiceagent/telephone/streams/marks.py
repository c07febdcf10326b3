"""Tells which audio a peer has played. The peer buffers audio. Marks stand behind pieces of it, and the peer sends each mark back
when it reaches it. Pure; times are seconds of any one clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.media.playout import Position

GRACE_S = 2.0
"""A mark that is later than this will not come. The audio before it counts as played, at the time at which it must have been."""
FORGIVEN = 3
"""The number of missing marks in a row after which the peer is taken to send none. Later marks are not waited for, until one
comes in time."""
MAX_REMEMBERED = 64
"""The most marks that are remembered although they were given up."""


@dataclass(slots=True)
class _Mark:
    name: str
    positions: Sequence[Position]
    frames: int
    played_s: float
    """The time at which everything before it has been played, if the peer plays audio as it arrives."""


class MarkLedger:
    """The marks on their way. If the peer has dropped the audio before a mark, the mark is stale: it comes back, but means
    nothing."""

    def __init__(self, *, come_back: bool = True) -> None:
        """If marks do not `come_back`, audio counts as played at the time at which it must have been."""
        self.stale = 0
        self.missing = 0
        """The number of marks that never came back."""
        self._waiting: deque[_Mark] = deque()
        self._given_up: dict[str, float] = {}
        """The time until which a mark that was given up may still come back, by name."""
        self._count = 0
        self._come_back = come_back
        self._missing_in_a_row = 0 if come_back else FORGIVEN

    @property
    def frames(self) -> int:
        """The number of frames before marks that have not come back."""
        return sum(mark.frames for mark in self._waiting)

    @property
    def due_s(self) -> float | None:
        """The time at which the oldest mark is given up; None if none is on its way."""
        grace_s = GRACE_S if self._missing_in_a_row < FORGIVEN else 0.0
        return self._waiting[0].played_s + grace_s if self._waiting else None

    def hold(self, reply_id: int) -> bool:
        """True if audio of the reply stands before a mark that has not come back."""
        return any(position[0] == reply_id for mark in self._waiting for position in mark.positions)

    def put(self, positions: Sequence[Position], frames: int, played_s: float) -> str:
        """The name of a new mark behind these frames."""
        self._count += 1
        reply_id, clause, _ = positions[-1]
        name = f"{reply_id}.{clause}.{self._count}"
        self._waiting.append(_Mark(name, positions, frames, played_s))
        return name

    def reached(self, name: str, now_s: float) -> list[Position]:
        """A mark came back. Returns what was played: the audio before it and before earlier marks."""
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
        """The audio that counts as played because its mark is too late."""
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
        """The peer has dropped the audio before all these marks."""
        self._waiting.clear()
