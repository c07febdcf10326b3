"""The level of audio: measures it, finds voiced spans by energy alone, and limits the peaks of a voice that is made louder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32768.0
SILENCE_DBFS = -120.0


def rms(pcm: NDArray[np.int16]) -> float:
    """Root mean square of int16 audio, 0..32768; 0 for no samples."""
    if not len(pcm):
        return 0.0
    values = pcm.astype(np.float32)
    return math.sqrt(float(np.dot(values, values)) / len(values))


def dbfs(pcm: NDArray[np.int16]) -> float:
    """Level relative to full scale in dB (a full-scale square wave is 0, a sine -3); -120 at silence."""
    value = rms(pcm) / FULL_SCALE
    return max(SILENCE_DBFS, 20.0 * math.log10(value)) if value > 0 else SILENCE_DBFS


def first_audible_sample(pcm: NDArray[np.int16], rate_hz: int, threshold_dbfs: float = -50.0) -> int:
    """The place where int16 audio, shape (samples,), becomes louder than the threshold, to 5 ms; its length when it never
    does."""
    step = rate_hz // 200
    blocks = pcm[: len(pcm) // step * step].reshape(-1, step).astype(np.float32)
    audible = np.flatnonzero(np.square(blocks).mean(axis=1) >= (10 ** (threshold_dbfs / 20) * FULL_SCALE) ** 2)
    return int(audible[0]) * step if len(audible) else len(pcm)


@dataclass(slots=True)
class VoicedSpan:
    """A stretch of speech: from the first to the end of the last voiced 5 ms, on the caller's clock."""

    onset_ms: float
    offset_ms: float


class VoicedTimeline:
    """Finds the voiced spans of a stream by energy. Spans closer than `join_ms` are one. Keeps the last `MAX_SPANS`."""

    MAX_SPANS = 4096
    STEP_MS = 5

    def __init__(self, rate_hz: int, *, threshold_dbfs: float = -45.0, join_ms: float = 300.0) -> None:
        self.rate_hz = rate_hz
        self.spans: list[VoicedSpan] = []
        self._join_ms = join_ms
        self._step_samples = rate_hz * self.STEP_MS // 1000
        self._threshold = (10 ** (threshold_dbfs / 20) * FULL_SCALE) ** 2

    def feed(self, pcm: NDArray[np.int16], start_ms: float) -> bool:
        """Add int16 audio, shape (samples,), whose first sample is heard at `start_ms`; True when any of it is voiced."""
        voiced = False
        step = self._step_samples
        values = pcm.astype(np.float32)
        for index in range(0, len(values), step):
            part = values[index : index + step]
            if float(np.dot(part, part)) / len(part) < self._threshold:
                continue
            voiced = True
            begin_ms = start_ms + index * 1000.0 / self.rate_hz
            end_ms = begin_ms + len(part) * 1000.0 / self.rate_hz
            if self.spans and begin_ms - self.spans[-1].offset_ms <= self._join_ms:
                self.spans[-1].offset_ms = max(end_ms, self.spans[-1].offset_ms)
            else:
                self.spans.append(VoicedSpan(begin_ms, end_ms))
                del self.spans[: -self.MAX_SPANS]
        return voiced

    @property
    def last_voiced_ms(self) -> float | None:
        """The end of the last voiced 5 ms; None when there was none."""
        return self.spans[-1].offset_ms if self.spans else None

    def first_onset_after(self, at_ms: float) -> float | None:
        """The onset of the first span that begins at or after `at_ms`; None when there is none."""
        return next((span.onset_ms for span in self.spans if span.onset_ms >= at_ms), None)


CEILING = 10 ** (-1 / 20) * 32767
"""The highest sample that comes out: 1 dB below full scale, because a later resampler overshoots a little."""
BLOCKS = 10
"""A piece is so many blocks. The gain moves in a straight line within each."""
RISE = 10 ** (0.25 / 20)
"""The largest rise of the gain in a block."""


class Limiter:
    """Makes a voice louder or softer and keeps its peaks below full scale, piece by piece. A feed-forward limiter that sees 20 ms
    ahead: the gain has fallen when a peak comes, and rises again slowly (Zölzer, DAFX, 2011, §4.2). A piece comes out as long as
    it is, and at once."""

    def __init__(self, gain_db: float) -> None:
        self._gain = 10 ** (gain_db / 20)
        self._last = 1.0
        """The limiter's share of the gain at the end of the last piece."""

    def process(self, pcm: NDArray[np.int16]) -> NDArray[np.int16]:
        """The next 20 ms, mono int16, shape (samples,), of a length that `BLOCKS` divides."""
        loud = pcm.astype(np.float64) * self._gain
        allowed = np.minimum(1.0, CEILING / np.maximum(1.0, np.abs(loud).reshape(BLOCKS, -1).max(axis=1)))
        if self._last < 1.0 or allowed.min() < 1.0:
            loud = loud * self._curve(allowed, len(pcm))
        return np.rint(loud).astype(np.int16)

    def _curve(self, allowed: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
        """The gain of each sample: at the edge between two blocks no more than either allows."""
        edges = [min(self._last, float(allowed[0]))]
        for block in range(BLOCKS):
            after = float(allowed[min(block + 1, BLOCKS - 1)])
            edges.append(min(edges[-1] * RISE, float(allowed[block]), after))
        self._last = edges[-1]
        return np.interp(np.arange(samples) * BLOCKS / samples, np.arange(BLOCKS + 1), edges)
