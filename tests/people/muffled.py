"""A person under a blanket: one hears that somebody speaks, and no word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.people.people import RATE_HZ

MUFFLED_HZ = 300.0


def muffled(audio: NDArray[np.int16]) -> NDArray[np.int16]:
    """Audio of shape (samples,), mono 16 kHz, without what lies above `MUFFLED_HZ`."""
    spectrum = np.fft.rfft(audio.astype(np.float64))
    at_hz = np.fft.rfftfreq(len(audio), 1 / RATE_HZ)
    return np.fft.irfft(spectrum / np.sqrt(1 + (at_hz / MUFFLED_HZ) ** 16), len(audio)).astype(np.int16)
