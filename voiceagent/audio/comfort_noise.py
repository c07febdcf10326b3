"""Comfort noise: what a telephone's caller hears while nobody speaks, so that the line does not seem dead (RFC 3389 §1, ITU-T
G.711 Appendix II). White noise at a low level, made once and read from random places."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PHONE_HZ
from voiceagent.audio.resample import resample

LENGTH_S = 4
SEED = 3389


class ComfortNoise:
    """One per call."""

    def __init__(self, dbov: float, rate_hz: int) -> None:
        """`dbov`: the level in the telephone's band, against full scale (RFC 3389 §3)."""
        self._noise = _noise(dbov, rate_hz)
        self._random = np.random.default_rng()

    def take(self, samples: int) -> NDArray[np.int16]:
        """Returns noise of this length, mono, shape (samples,)."""
        start = int(self._random.integers(len(self._noise) - samples))
        return self._noise[start : start + samples]


@functools.lru_cache(maxsize=4)
def _noise(dbov: float, rate_hz: int) -> NDArray[np.int16]:
    level = 32_768 * 10 ** (dbov / 20)
    narrow = np.random.default_rng(SEED).normal(0.0, level, LENGTH_S * PHONE_HZ)
    return resample(np.rint(narrow).astype(np.int16), PHONE_HZ, rate_hz)
