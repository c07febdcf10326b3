"""Audio from one telephone to another through this server, and the tone for a caller who waits. Mono 8 kHz, as telephones use it:
frames of 20 ms come in as packets come, and go out one a tick."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PHONE_FRAME_SAMPLES, PHONE_HZ

FIRST_FRAMES = 3
"""Frames that are gathered before the first goes out, and after the relay has run dry: packets are that unpunctual."""
MAX_FRAMES = 10
"""More are a delay that nobody wants to talk over: the oldest go."""
TONE_HZ = 425.0
TONE_FRAMES, PERIOD_FRAMES = 10, 200
TONE_LEVEL = 0.05
"""The level of the tone, as a part of full scale."""


class AudioRelay:
    """One direction. `put` what arrived, `take` what is due."""

    def __init__(self) -> None:
        self.dropped = 0
        """Frames of one side whose clock is faster."""
        self._waiting: deque[NDArray[np.int16]] = deque()
        self._flows = False

    def put(self, pcm: NDArray[np.int16]) -> None:
        """A frame arrived, shape (160,)."""
        self._waiting.append(pcm)
        self._flows = self._flows or len(self._waiting) >= FIRST_FRAMES
        if len(self._waiting) > MAX_FRAMES:
            while len(self._waiting) > FIRST_FRAMES:
                self._waiting.popleft()
                self.dropped += 1

    def take(self) -> NDArray[np.int16] | None:
        """The frame that is due; None where there is none yet."""
        if not self._flows:
            return None
        if not self._waiting:
            self._flows = False
            return None
        return self._waiting.popleft()


class WaitingTone:
    """A short, soft tone every few seconds: the call is still there."""

    def __init__(self) -> None:
        samples = TONE_FRAMES * PHONE_FRAME_SAMPLES
        wave = np.sin(np.arange(samples) * 2 * np.pi * TONE_HZ / PHONE_HZ) * np.hanning(samples) * TONE_LEVEL * 32_767
        self._tone = wave.astype(np.int16).reshape(TONE_FRAMES, PHONE_FRAME_SAMPLES)
        self._frame = 0

    def take(self, *, may_sound: bool) -> NDArray[np.int16] | None:
        """The next frame; the tone waits while somebody speaks."""
        if not may_sound:
            self._frame = TONE_FRAMES
            return None
        place = self._frame
        self._frame = (place + 1) % PERIOD_FRAMES
        return self._tone[place] if place < TONE_FRAMES else None
