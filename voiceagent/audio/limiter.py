"""A level limiter for telephones: what is louder than a phone's small loudspeaker and its echo canceller take well is bent
softly below a ceiling. Without memory, so it delays nothing and pieces join without a seam."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32768.0
KNEE_DBFS = -6.0
"""Peaks up to here stay as they are."""
CEILING_DBFS = -3.0
"""No peak comes above."""
_KNEE = FULL_SCALE * 10 ** (KNEE_DBFS / 20)
_ROOM = FULL_SCALE * 10 ** (CEILING_DBFS / 20) - _KNEE


def limited(pcm: NDArray[np.int16]) -> NDArray[np.int16]:
    """Mono audio of any rate, shape (samples,), with its peaks bent by a hyperbolic tangent that goes on where the straight line
    ends, with its slope. The array itself where nothing is that loud."""
    size = np.abs(pcm.astype(np.float32))
    over = size > _KNEE
    if not over.any():
        return pcm
    bent = _KNEE + _ROOM * np.tanh((size - _KNEE) / _ROOM)
    return np.where(over, np.copysign(np.floor(bent), pcm), pcm).astype(np.int16)
