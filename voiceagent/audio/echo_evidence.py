"""Detects that a caller's audio contains an echo of the audio played to them: the levels of both are alike, at a delay up to 400
ms. Without an echo, an echo canceller that does not know it yet takes the caller's own voice for one. Pure."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

WINDOW_FRAMES = 50
"""1 s of the caller's audio, in frames of 20 ms, is compared."""
LAGS = 20
LOOKED_EVERY_FRAMES = 5
PLAYED_FRAMES = 30
"""Frames of the window that must hold sound that was played."""
PLAYED_RMS = 100.0
"""A level on a full scale of 32768: softer frames are silence, or nearly."""
ALIKE = 0.6
"""Correlation of the levels, in decibels, from which it is an echo. Measured: 0.43 to 0.98 for echoes 6 to 20 dB below what is
played, at most 0.61 for noise, 0.3 at the median for somebody else's voice."""
UNLIKE = 0.4
LOOKS_TO_FORGET = 2
LOOKS_TO_FORGET_FOUND = 20
"""The number of comparisons in a row that must be unlike before there is no echo: fewer as long as none was found."""


class EchoEvidence:
    """Looks for the echo of one caller. Feed each frame of the caller with the frame that was played at its time."""

    def __init__(self) -> None:
        self.is_likely = True
        """Until it is known better."""
        self._found = False
        self._unlike = 0
        self._frames = 0
        self._came: deque[float] = deque(maxlen=WINDOW_FRAMES)
        self._played: deque[float] = deque(maxlen=WINDOW_FRAMES + LAGS)

    def feed(self, came: NDArray[np.int16], played: NDArray[np.int16]) -> None:
        """20 ms each, at any rate."""
        self._came.append(_power(came))
        self._played.append(_power(played))
        self._frames += 1
        if self._frames % LOOKED_EVERY_FRAMES or len(self._played) < WINDOW_FRAMES + LAGS:
            return
        loud = sum(power > PLAYED_RMS**2 for power in list(self._played)[-WINDOW_FRAMES:])
        if loud >= PLAYED_FRAMES:
            self._judge(_alike(np.array(self._came), np.array(self._played)))

    def _judge(self, alike: float) -> None:
        if alike >= ALIKE:
            self.is_likely = self._found = True
        self._unlike = self._unlike + 1 if alike < UNLIKE else 0
        if self._unlike >= (LOOKS_TO_FORGET_FOUND if self._found else LOOKS_TO_FORGET):
            self.is_likely = self._found = False


def _power(pcm: NDArray[np.int16]) -> float:
    samples = pcm.astype(np.float32)
    return float(samples.dot(samples)) / len(samples)


def _alike(came: NDArray[np.float64], played: NDArray[np.float64]) -> float:
    """The highest correlation of the two in decibels, where `came` is 0 to `LAGS` - 1 frames later."""
    late = np.log10(came + 1)
    late -= late.mean()
    windows = np.lib.stride_tricks.sliding_window_view(np.log10(played + 1), len(late))[1:]
    windows = windows - windows.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.square(windows).sum(axis=1) * np.square(late).sum())
    return float(np.max(windows @ late / np.maximum(scale, 1e-9)))
