"""What a leg plays to its caller, by the time at which it is played: an echo canceller takes it out of what comes back. Pure."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from voiceagent.media.playout import FRAME_SAMPLES, RATE_HZ

KEPT_SAMPLES = RATE_HZ
"""1 s: what was played is asked for when the caller's audio of that time has come, which is at most so much later."""
SAMPLES_PER_MS = RATE_HZ // 1000


class EchoReference:
    """Mono 24 kHz. Times are milliseconds of `time.monotonic`."""

    def __init__(self) -> None:
        self._played: deque[tuple[int, NDArray[np.int16]]] = deque()
        """Frames and their first samples, counted from the clock's zero."""

    def __len__(self) -> int:
        return len(self._played)

    def put(self, pcm: NDArray[np.int16], at_ms: float) -> None:
        """A frame begins to be played at `at_ms`, shape (480,)."""
        start = round(at_ms * SAMPLES_PER_MS)
        self._played.append((start, pcm))
        while self._played[0][0] < start - KEPT_SAMPLES:
            self._played.popleft()

    def forget_from(self, at_ms: float) -> None:
        """What was to be played from then on is not."""
        end = round(at_ms * SAMPLES_PER_MS)
        while self._played and self._played[-1][0] >= end:
            self._played.pop()
        if self._played:
            start, pcm = self._played[-1]
            self._played[-1] = start, pcm[: end - start]

    def until(self, at_ms: float) -> NDArray[np.int16]:
        """The 20 ms that ended at `at_ms`, shape (480,); silence where nothing was played."""
        end = round(at_ms * SAMPLES_PER_MS)
        start = end - FRAME_SAMPLES
        heard = np.zeros(FRAME_SAMPLES, np.int16)
        for at, pcm in self._played:
            if start - len(pcm) < at < end:
                first, last = max(at, start), min(at + len(pcm), end)
                heard[first - start : last - start] = pcm[first - at : last - at]
        return heard
