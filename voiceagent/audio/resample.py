"""Resamples a stream of mono audio piece by piece, and plays speech at another speed with the same pitch."""

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
    """Resamples a stream for a conversation by a short linear-phase filter, whose delay is 2 ms of the telephone's band, where
    the SoX resampler keeps up to 66 ms (8 to 16 kHz, its HQ). As many milliseconds come out as go in, so frames stay whole.
    Pieces of any size give what the whole would."""

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
    """Resamples chunks of mono int16 by the SoX resampler. Pieces of any size give the same as the whole would."""

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


PIECE_MS = 30
SEARCH_MS = 8
"""A piece is moved by at most this, half a period of the lowest voices."""


class TimeStretcher:
    """Speech at another speed and the same pitch, as it comes: waveform similarity overlap-add (WSOLA, Verhelst and Roelands
    1993). Pieces of the sound are laid over each other at another distance, each moved a little to where it continues the one
    before."""

    def __init__(self, rate_hz: int, speed: float) -> None:
        """`speed` above 1 is faster."""
        self._speed = speed
        self._half = rate_hz * PIECE_MS // 2000
        self._search = rate_hz * SEARCH_MS // 1000
        self._fade_in = np.linspace(0.0, 1.0, self._half, dtype=np.float32)
        self._input = np.zeros(0, np.float32)
        self._next = 0.0
        """The place in the input at which the next piece should begin."""
        self._tail: NDArray[np.float32] | None = None
        """The second half of the last piece: the next one is to continue it."""

    def process(self, pcm: NDArray[np.int16], *, last: bool = False) -> NDArray[np.int16]:
        """Stretch shape (samples,). Some of it comes out with the next piece, or with the `last`."""
        if self._speed == 1.0:
            return pcm
        self._input = np.concatenate((self._input, pcm.astype(np.float32)))
        end = len(self._input)
        if last:
            self._input = np.concatenate((self._input, np.zeros(2 * self._half + self._search, np.float32)))
        out: list[NDArray[np.float32]] = []
        while self._next < end if last else int(self._next) + self._search + 2 * self._half <= end:
            out.append(self._piece(int(self._next)))
            self._next += self._half * self._speed
        done = max(0, int(self._next) - self._search)
        self._input, self._next = self._input[done:], self._next - done
        if last and self._tail is not None:
            out.append(self._tail * self._fade_in[::-1])
            self._tail = None
        joined = np.concatenate(out) if out else np.zeros(0, np.float32)
        return np.clip(joined, -32768, 32767).astype(np.int16)

    def _piece(self, ideal: int) -> NDArray[np.float32]:
        """The next half piece of the output, with the input's piece from about `ideal` on."""
        start = ideal if self._tail is None else self._best(ideal, self._tail)
        first, second = self._input[start : start + self._half], self._input[start + self._half : start + 2 * self._half]
        out = first if self._tail is None else self._tail * (1.0 - self._fade_in) + first * self._fade_in
        self._tail = second
        return out

    def _best(self, ideal: int, tail: NDArray[np.float32]) -> int:
        """The place near `ideal` from which the input is most like the tail."""
        begin = max(0, ideal - self._search)
        region = self._input[begin : ideal + self._search + self._half]
        return begin + int(np.argmax(np.correlate(region, tail, "valid")))
