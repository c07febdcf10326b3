"""Tells the beep of an answering machine from the tones of a line. A beep is one tone that comes once, and silence follows.
Ring-back, busy and information tones are two tones at once, or come again (ITU-T E.180, E.182). Pure."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.beep import FRAME_MS, Beep, BeepDetector
from voiceagent.audio.levels import rms

LONGEST_MS = 1_600
"""A longer tone is none of a machine."""
AFTER_MS = 400
"""The silence after a beep. Between the tones of most lines there is less."""
LINE_HZ = (380.0, 500.0)
"""Where the single tones of the world's ring-back and busy lines lie."""
FAX_HZ, FAX_MS, AFTER_FAX_MS = (1_080.0, 1_120.0), 400, 3_500
"""A fax machine that calls (ITU-T T.30): its tone comes every 3.5 s."""
TOGETHER_MS = 700
"""Tones that follow each other sooner are a signal of the line's, such as the three of the information tone."""
BUSY_MS, AFTER_BUSY_MS = 300, 700
RING_MS, AFTER_RING_MS = 700, 6_500
"""From so long on a tone of a line's pitch may be one of busy or ring-back, and the next would come within this silence."""
SAME_HZ = 40.0
AGAIN_MS = 8_000
"""A tone of the same pitch that comes again within this time is a line's."""
LOUD = 0.5
"""A share of the beep's level. What is louder is no silence."""
LOUD_FRAMES = 3
"""So many frames of noise end no silence."""


class SingleBeep:
    """Of one call; takes every frame in order."""

    def __init__(self) -> None:
        self._tones = BeepDetector()
        self._levels: deque[float] = deque(maxlen=8)
        self._last: Beep | None = None
        """A tone that is over, and may be the beep."""
        self._level = 0.0
        self._quiet_ms = 0.0
        self._loud = 0
        self._now_ms = 0.0
        self._line_ms = -float(AGAIN_MS)
        self._pairs = 0
        self._heard: deque[tuple[float, float]] = deque(maxlen=16)
        """The end and the pitch of each tone so far."""

    @property
    def waits(self) -> bool:
        """Whether a tone is over that may yet turn out to be the beep."""
        return self._last is not None

    @property
    def is_line(self) -> bool:
        """Whether a line's tone was heard of late, and may come again."""
        return self._now_ms - self._line_ms < AGAIN_MS

    def feed(self, frame: NDArray[np.int16], *, is_expected: bool = False) -> Beep | None:
        """Hear 20 ms of mono 16 kHz, shape (320,); the beep, once the silence after it has shown that it is one. `is_expected`
        says that a machine has spoken: then only what may be ring-back is waited for."""
        self._now_ms += FRAME_MS
        tone = self._tones.feed(frame)
        level = rms(frame)
        if tone is not None:
            self._end_tone(tone)
        self._levels.append(level)
        if self._tones.pairs > self._pairs:
            self._pairs, self._line_ms, self._last = self._tones.pairs, self._now_ms, None
        if self._last is None:
            return None
        if level > LOUD * self._level:
            self._loud += 1
            if self._loud > LOUD_FRAMES or self._tones.sounding:
                self._last = None
            return None
        self._quiet_ms += FRAME_MS
        if self._quiet_ms < _silence_after(self._last, is_expected=is_expected):
            return None
        beep, self._last = self._last, None
        return beep

    def _end_tone(self, tone: Beep) -> None:
        again = any(self._now_ms - at < AGAIN_MS and abs(hz - tone.hz) < SAME_HZ for at, hz in self._heard)
        follows = any(self._now_ms - tone.duration_ms - at < TOGETHER_MS for at, _ in self._heard)
        self._heard.append((self._now_ms, tone.hz))
        if again and _is_between(tone.hz, LINE_HZ):
            self._line_ms = self._now_ms
        self._last = None if again or follows or tone.duration_ms > LONGEST_MS else tone
        self._level = float(np.median(self._levels)) if self._levels else 0.0
        self._quiet_ms, self._loud = 0.0, 0


def _silence_after(tone: Beep, *, is_expected: bool) -> float:
    if _is_between(tone.hz, LINE_HZ) and tone.duration_ms >= RING_MS:
        return AFTER_RING_MS
    if is_expected:
        return AFTER_MS
    if _is_between(tone.hz, FAX_HZ) and tone.duration_ms >= FAX_MS:
        return AFTER_FAX_MS
    return AFTER_BUSY_MS if _is_between(tone.hz, LINE_HZ) and tone.duration_ms >= BUSY_MS else AFTER_MS


def _is_between(hz: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= hz <= limits[1]
