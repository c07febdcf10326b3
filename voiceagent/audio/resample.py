"""Resampling of a stream of mono audio, piece by piece, by the SoX resampler."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

from voiceagent.errors import MediaError


class StreamResampler:
    """Resamples chunks of mono int16 to another rate. Pieces of any size give the same as the whole would."""

    def __init__(self, from_hz: int, to_hz: int, *, quality: str = "HQ") -> None:
        """`quality` is one of soxr's: QQ, LQ, MQ, HQ, VHQ; the lower, the less delay. Raises MediaError for a rate below 1 Hz."""
        if from_hz < 1 or to_hz < 1:
            raise MediaError(f"cannot resample from {from_hz} Hz to {to_hz} Hz; expected rates above zero, such as 16000")
        self._stream = None if from_hz == to_hz else soxr.ResampleStream(from_hz, to_hz, 1, dtype="int16", quality=quality)

    def process(self, pcm: NDArray[np.int16], *, last: bool = False) -> NDArray[np.int16]:
        """Resample shape (samples,); what comes out may lag by a few milliseconds until `last`, which flushes."""
        if self._stream is None:
            return pcm
        out: NDArray[np.int16] = self._stream.resample_chunk(np.ascontiguousarray(pcm), last=last)
        return out


def resample(pcm: NDArray[np.int16], from_hz: int, to_hz: int) -> NDArray[np.int16]:
    """A whole clip of mono int16 at another rate, shape (samples,)."""
    return StreamResampler(from_hz, to_hz).process(pcm, last=True)
