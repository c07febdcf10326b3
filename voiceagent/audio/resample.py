"""Resampling of a stream of mono audio, piece by piece, by the SoX resampler.

Resampling of a stream for a conversation: a short linear-phase filter, whose delay is 2 ms of the telephone's band, where the
SoX resampler keeps up to 66 ms (8 to 16 kHz, its HQ). As many milliseconds come out as go in, so frames stay whole."""

from __future__ import annotations

import functools
import math

import numpy as np
import soxr
from numpy.typing import NDArray

from voiceagent.errors import MediaError

HALF_WIDTH = 16
"""Samples of the lower rate on either side of the filter's middle: its delay."""
PASSED = 0.92
"""The middle of the filter's slope, as a share of the lower rate's band: 3.7 kHz of 4."""


@functools.cache
def _filter(up: int, down: int) -> NDArray[np.float32]:
    """The low-pass at `up` times the input's rate, a windowed sinc (Kaiser, 60 dB), its gain `up`."""
    slower = max(up, down)
    offsets = np.arange(-HALF_WIDTH * slower, HALF_WIDTH * slower + 1) / slower
    taps = np.sinc(offsets * PASSED) * np.kaiser(len(offsets), 5.65)
    scaled: NDArray[np.float32] = (taps / taps.sum() * up).astype(np.float32)
    return scaled


class ShortResampler:
    """Pieces of mono int16 in, pieces at another rate out. Pieces of any size give what the whole would."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        """Raises MediaError for a rate below 1 Hz."""
        if from_hz < 1 or to_hz < 1:
            raise MediaError(f"cannot resample from {from_hz} Hz to {to_hz} Hz; expected rates above zero, such as 16000")
        common = math.gcd(from_hz, to_hz)
        self._up, self._down = to_hz // common, from_hz // common
        self._taps = _filter(self._up, self._down)
        self._before = np.zeros(math.ceil((len(self._taps) - 1) / self._up), np.float32)
        """The input that the filter still reaches back to."""
        self._skip = 0
        """The offset of the next sample of the output in the next piece, at `up` times its rate."""

    @property
    def delay_ms(self) -> float:
        """The delay with a rate of 8 kHz on either side; less for others."""
        return HALF_WIDTH / 8.0

    def process(self, pcm: NDArray[np.int16]) -> NDArray[np.int16]:
        """Resample shape (samples,)."""
        if self._up == self._down:
            return pcm
        joined = np.concatenate((self._before, pcm.astype(np.float32)))
        spread = np.zeros(len(joined) * self._up, np.float32)
        spread[:: self._up] = joined
        filtered = np.convolve(spread, self._taps, "valid")[-len(pcm) * self._up :] if len(pcm) else spread[:0]
        out = filtered[self._skip :: self._down]
        self._skip = (self._skip - len(filtered)) % self._down
        self._before = joined[len(joined) - len(self._before) :]
        return np.clip(np.rint(out), -32768, 32767).astype(np.int16)


class StreamResampler:
    """Resamples chunks of mono int16 to another rate. Pieces of any size give the same as the whole would."""

    def __init__(self, from_hz: int, to_hz: int, *, quality: str = "HQ") -> None:
        """`quality` is one of soxr's: QQ, LQ, MQ, HQ, VHQ; the lower, the less delay. Raises MediaError for a rate below 1 Hz."""
        if from_hz < 1 or to_hz < 1:
            raise MediaError(f"cannot resample from {from_hz} Hz to {to_hz} Hz; expected rates above zero, such as 16000")
        self._stream = None if from_hz == to_hz else soxr.ResampleStream(from_hz, to_hz, 1, dtype="int16", quality=quality)

    def process(self, pcm: NDArray[np.int16], *, last: bool = False) -> NDArray[np.int16]:
        """Resample shape (samples,); the output may lag by a few milliseconds until `last`, which flushes."""
        if self._stream is None:
            return pcm
        out: NDArray[np.int16] = self._stream.resample_chunk(np.ascontiguousarray(pcm), last=last)
        return out


def resample(pcm: NDArray[np.int16], from_hz: int, to_hz: int) -> NDArray[np.int16]:
    """A whole clip of mono int16 at another rate, shape (samples,)."""
    return StreamResampler(from_hz, to_hz).process(pcm, last=True)
