"""Speech at another speed and the same pitch, as it comes: waveform similarity overlap-add (WSOLA, Verhelst and Roelands 1993).
Pieces of the sound are laid over each other at another distance, each moved a little to where it continues the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PIECE_MS = 30
SEARCH_MS = 8
"""A piece is moved by at most this, half a period of the lowest voices."""


class TimeStretcher:
    """Pieces of mono int16 in, pieces at another speed out."""

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
