"""Hums with a gliding pitch and a pause, and what Pipecat 1.14.0's own pipeline (`LocalSmartTurnAnalyzerV3`, run once on them
with Smart Turn v3.2) makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 16_000
PLACES = ((4, 780), (12, 770), (30, 760), (60, 790))
"""Of features: mel, window."""


@dataclass(frozen=True)
class Glide:
    duration_s: float
    from_hz: float
    to_hz: float
    pause_s: float
    chance: float
    """What the reference says of it."""
    features: tuple[float, ...]
    """Their mean and deviation, and those at `PLACES`."""

    @property
    def audio(self) -> NDArray[np.int16]:
        time_s = np.arange(int(self.duration_s * RATE_HZ)) / RATE_HZ
        hz = self.from_hz + (self.to_hz - self.from_hz) * time_s / self.duration_s
        phase = 2 * np.pi * np.cumsum(hz) / RATE_HZ
        syllables = 0.5 - 0.5 * np.cos(2 * np.pi * 4 * time_s)
        wave = sum(np.sin(n * phase) / n for n in range(1, 12)) * syllables * 0.2
        return np.concatenate([wave * 32767, np.zeros(int(self.pause_s * RATE_HZ))]).astype(np.int16)


GLIDES = (
    Glide(1.0, 140, 90, 0.2, 0.839466, (0.012562, 0.304961, 0.204416, 1.58204, 0.779052, -0.057759)),
    Glide(1.0, 110, 115, 0.2, 0.5, (0.013769, 0.304451, 0.478119, 1.585809, 1.152959, -0.05633)),
    Glide(3.0, 150, 80, 0.1, 0.22776, (0.039159, 0.494822, 1.632564, 1.104318, -0.16909, -0.16909)),
    Glide(7.95, 120, 120, 0.3, 0.347466, (0.274839, 0.682412, -0.279392, 1.07011, 1.14297, -0.279392)),
    Glide(0.4, 180, 100, 0.6, 0.952276, (0.063041, 0.211913, 0.026436, 0.026436, 0.026436, 0.026436)),
    Glide(2.0, 100, 180, 0.2, 0.201242, (0.023306, 0.434239, 0.467667, 1.423657, 1.149254, -0.132509)),
)
