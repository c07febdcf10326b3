"""Both sides of a call on one clock: the caller left, the agent right. Pieces come as they are heard and played; what is taken
out is whole stretches in which both sides stand where they belong. Pure."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 16_000
SIDES: tuple[Literal["caller", "agent"], ...] = ("caller", "agent")
SLACK = {"caller": RATE_HZ // 5, "agent": RATE_HZ // 20}
"""A side that is behind the clock by more, in samples, was silent: its next piece stands at the clock's time. What a network held
back comes in a run, and stands in a row."""
MAX_AHEAD = RATE_HZ
"""A side that is ahead of the clock by more sends too much: the piece is left out."""


class CallTimeline:
    """Of one call. Times are samples since its beginning."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[tuple[int, NDArray[np.int16]]]] = {side: [] for side in SIDES}
        self._ends = dict.fromkeys(SIDES, 0)
        self._taken = 0

    def put(self, side: Literal["caller", "agent"], pcm: NDArray[np.int16], at: int) -> None:
        """What a side says at this time; mono 16 kHz."""
        end = self._ends[side]
        start = max(at, self._taken) if at - end > SLACK[side] else max(end, self._taken)
        if start - at > MAX_AHEAD or not len(pcm):
            return
        self._pieces[side].append((start, pcm))
        self._ends[side] = start + len(pcm)

    def drop_agent(self, at: int) -> None:
        """What the agent says from this time on is not played after all."""
        kept = [(start, pcm[: max(0, at - start)]) for start, pcm in self._pieces["agent"]]
        self._pieces["agent"] = [(start, pcm) for start, pcm in kept if len(pcm)]
        self._ends["agent"] = min(self._ends["agent"], max(at, self._taken))

    def take(self, until: int) -> NDArray[np.int16]:
        """All up to this time that was not taken yet, shape (samples, 2)."""
        since, self._taken = self._taken, max(self._taken, until)
        out = np.zeros((self._taken - since, 2), np.int16)
        for column, side in enumerate(SIDES):
            left: list[tuple[int, NDArray[np.int16]]] = []
            for start, pcm in self._pieces[side]:
                now = pcm[: max(0, self._taken - start)]
                out[start - since : start - since + len(now), column] = now
                if len(now) < len(pcm):
                    left.append((start + len(now), pcm[len(now) :]))
            self._pieces[side] = left
        return out
