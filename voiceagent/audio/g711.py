"""The audio of a telephone line: G.711, 8 bits a sample at 8 kHz, as µ-law (PCMU) and A-law (PCMA), by tables made once from the
formulas of the recommendation (ITU-T G.711 §3); and comfort noise, so that the line does not seem dead while nobody speaks (RFC
3389 §1, ITU-T G.711 Appendix II)."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PHONE_HZ
from voiceagent.audio.resample import resample

_BIAS = 33
"""Added to µ-law's 14 bits before its segments are told apart."""
_CLIP = 8_158


def _of_ulaw(code: int) -> int:
    inverted = ~code & 0xFF
    level = (((inverted & 0x0F) << 1) + _BIAS << (inverted >> 4 & 7)) - _BIAS << 2
    return -level if inverted & 0x80 else level


def _of_alaw(code: int) -> int:
    plain = code ^ 0x55
    segment, step = plain >> 4 & 7, plain & 0x0F
    level = (step << 4) + 8 if segment == 0 else (step << 4) + 264 << (segment - 1)
    return level if plain & 0x80 else -level


def _to_ulaw(sample: int) -> int:
    level = min(abs(sample >> 2), _CLIP) + _BIAS
    segment = level.bit_length() - 6
    return ~((0x80 if sample < 0 else 0) | segment << 4 | level >> segment + 1 & 0x0F) & 0xFF


def _to_alaw(sample: int) -> int:
    level = sample if sample >= 0 else ~sample
    segment = max(0, level.bit_length() - 8)
    step = level >> (segment + 3 if segment else 4) & 0x0F
    return ((0x80 if sample >= 0 else 0) | segment << 4 | step) ^ 0x55


@functools.cache
def _decoding(is_alaw: bool) -> NDArray[np.int16]:
    """The samples by code, shape (256,)."""
    return np.array([(_of_alaw if is_alaw else _of_ulaw)(code) for code in range(256)], np.int16)


@functools.cache
def _encoding(is_alaw: bool) -> NDArray[np.uint8]:
    """The codes by sample as 16 unsigned bits, shape (65536,)."""
    encode = _to_alaw if is_alaw else _to_ulaw
    return np.array([encode(sample - 65_536 if sample > 32_767 else sample) for sample in range(65_536)], np.uint8)


def prepare() -> None:
    """Make the tables, which takes a tenth of a second: for a thread, before the first call."""
    for is_alaw in (False, True):
        _encoding(is_alaw)
        _decoding(is_alaw)


def decode(payload: bytes, *, alaw: bool = False) -> NDArray[np.int16]:
    """Samples of any number of bytes, mono int16, shape (bytes,)."""
    return _decoding(alaw)[np.frombuffer(payload, np.uint8)]


def encode(pcm: NDArray[np.int16], *, alaw: bool = False) -> bytes:
    """A byte for each sample of mono int16, shape (samples,)."""
    return _encoding(alaw)[pcm.view(np.uint16)].tobytes()


LENGTH_S = 4
SEED = 3389


class ComfortNoise:
    """White noise at a low level, made once and read from random places. One per call."""

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
