"""The jitter of a stream of packets, over an interval that its reader chooses: the mean difference of the transit times of two
packets that follow each other, in milliseconds. RFC 3550 §6.4.1 smooths the same differences."""

from __future__ import annotations

GAP_MS = 5000.0
"""Packets that are further apart by their own times do not follow each other."""


class Jitter:
    """The jitter of one stream."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._sum_ms = 0.0
        self._count = 0

    def add(self, at_ms: float, nominal_ms: float) -> None:
        """A packet came or went at `at_ms`, and its audio begins at `nominal_ms` of the stream's time line."""
        if self._before is not None:
            moved_ms = nominal_ms - self._before[1]
            if moved_ms <= 0.0 and moved_ms > -GAP_MS:
                return  # it was overtaken
            if abs(moved_ms) <= GAP_MS:
                self._sum_ms += abs(at_ms - self._before[0] - moved_ms)
                self._count += 1
        self._before = at_ms, nominal_ms

    def take_ms(self) -> float | None:
        """The jitter since this was last asked. None: there were not two packets."""
        found = self._sum_ms / self._count if self._count else None
        self._sum_ms, self._count = 0.0, 0
        return found
