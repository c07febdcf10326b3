"""Turns a voice's audio to PCM at one level. The gain is set once, when the voice is loaded. Neither a chunk nor a sentence is
scaled by its own peak, so chunks join, and a reply does not change its loudness between sentences. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOUD_PART = 0.99
CREST = 2.0
"""How far the peaks of speech stand above the level that `LOUD_PART` of its samples stay below: 2 to 2.8, measured."""
MOST_GAIN = 100.0
KNEE_AT_MOST = 0.9


@dataclass(frozen=True, slots=True)
class Loudness:
    """`gain` brings a voice's ordinary peaks to `peak`, as a part of full scale. Louder moments are compressed, never clipped."""

    gain: float
    peak: float

    @classmethod
    def of(cls, sample: NDArray[np.float32], peak: float) -> Loudness:
        """Measured on a few spoken words, shape (samples,). Silence is not amplified."""
        level = float(np.quantile(np.abs(sample), LOUD_PART)) * CREST if len(sample) else 0.0
        return cls(min(peak / level, MOST_GAIN) if level > 0 else 0.0, peak)

    def pcm(self, audio: NDArray[np.float32]) -> NDArray[np.int16]:
        """Audio of the voice as int16, sample by sample, same shape."""
        scaled = audio * np.float32(self.gain)
        knee = min(self.peak, KNEE_AT_MOST)
        over = np.abs(scaled) > knee
        if over.any():
            excess = (np.abs(scaled[over]) - knee) / (1 - knee)
            scaled[over] = np.sign(scaled[over]) * (knee + (1 - knee) * np.tanh(excess))
        pcm: NDArray[np.int16] = (scaled * 32767).astype(np.int16)
        return pcm
