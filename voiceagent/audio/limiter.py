"""Makes a voice louder or softer and keeps its peaks below full scale. A feed-forward limiter that sees 20 ms ahead: the gain has
fallen when a peak comes, and rises again slowly (Zölzer, DAFX, 2011, §4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CEILING = 10 ** (-1 / 20) * 32767
"""The highest sample that comes out: 1 dB below full scale, because a later resampler overshoots a little."""
BLOCKS = 10
"""A piece is so many blocks. The gain moves in a straight line within each."""
RISE = 10 ** (0.25 / 20)
"""The largest rise of the gain in a block."""


class Limiter:
    """One voice, piece by piece. A piece comes out as long as it is, and at once."""

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
