"""Finds a telephone's keys that come as tones (DTMF, ITU-T Q.23), so that they are not taken for speech: recognisers write words
for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_FRAME_SAMPLES, HEARD_HZ

LOW_HZ, HIGH_HZ = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
"""A key is one tone of each group."""
SHARE = 0.7
"""The two tones have at least so much of the frame's energy. Speech by telephone hardly ever comes near it. Tones that are off by
1 % reach it."""
TWIST_DB = 10.0
"""The largest difference in level between the two."""
QUIETEST = 10 ** (-45 / 20) * 32768
"""The root mean square from which a frame is looked at."""

_TIME_S = np.arange(HEARD_FRAME_SAMPLES) / HEARD_HZ
_WAVES = np.array(
    [wave(2 * np.pi * hz * _TIME_S) for hz in (*LOW_HZ, *HIGH_HZ) for wave in (np.cos, np.sin)],
    dtype=np.float32,
)


def is_key_tone(frame: NDArray[np.int16]) -> bool:
    """True when 20 ms of mono 16 kHz audio, shape (320,), are the tones of a key."""
    samples = frame.astype(np.float32)
    energy = float(samples @ samples)
    if energy < HEARD_FRAME_SAMPLES * QUIETEST**2:
        return False
    amplitudes = (_WAVES @ samples) * np.float32(2 / HEARD_FRAME_SAMPLES)
    powers = np.square(amplitudes).reshape(-1, 2).sum(axis=1)
    low, high = float(powers[: len(LOW_HZ)].max()), float(powers[len(LOW_HZ) :].max())
    twist = 10 ** (TWIST_DB / 10)
    return (low + high) * HEARD_FRAME_SAMPLES / 2 >= SHARE * energy and low <= twist * high and high <= twist * low
