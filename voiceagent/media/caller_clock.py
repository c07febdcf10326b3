"""When a caller's frames would have come without jitter: packets come late and in bursts, but speech goes on evenly. Pure."""

from __future__ import annotations

from collections import deque

FRAME_MS = 20.0
MARGIN_MS = 5.0
"""A frame that comes early moves the line by so much more, so that the next ones do not move it again."""
WATCHED_FRAMES = 100
MAX_LATE_MS = 40.0
"""When all frames that are watched (2 s) came later than that, the line moves: the caller's clock is slow, or audio was lost."""

PAUSE_MS = 1000.0
"""A frame that comes later follows a pause, in which nobody was heard: the line goes on from it. What was played so long ago is
not known any more (`echo_reference.KEPT_SAMPLES`)."""


class CallerClock:
    """Of one stream of frames of 20 ms."""

    def __init__(self) -> None:
        self._line_ms: float | None = None
        self._late_ms: deque[float] = deque(maxlen=WATCHED_FRAMES)

    def next(self, received_ms: float) -> float:
        """When the next frame would have come on a network that delays all alike, no later than it was received."""
        line_ms = received_ms - MARGIN_MS if self._line_ms is None else self._line_ms + FRAME_MS
        if line_ms > received_ms or received_ms - line_ms > PAUSE_MS:
            line_ms = received_ms - MARGIN_MS
            self._late_ms.clear()
        self._late_ms.append(received_ms - line_ms)
        if len(self._late_ms) == WATCHED_FRAMES and min(self._late_ms) > MAX_LATE_MS:
            line_ms += min(self._late_ms) - MARGIN_MS
            self._late_ms.clear()
        self._line_ms = line_ms
        return line_ms
