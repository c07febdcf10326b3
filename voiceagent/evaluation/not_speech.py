"""Sounds that are not speech: silence, coloured noise, hum, tones and clicks, from a seed. Whisper is trained to write nothing
for them, and `voiceagent models check` counts how often it does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

KINDS = ("silence", "white", "pink", "brown", "hum", "tone", "clicks")
_COLOURS = {"white": 0.0, "pink": 0.5, "brown": 1.0}


def coloured_noise(rng: np.random.Generator, samples: int, exponent: float) -> npt.NDArray[np.float32]:
    """Noise of unit deviation whose amplitude falls with frequency to the power of `exponent`: 0 white, 0.5 pink, 1 brown."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    steps = np.maximum(np.arange(len(spectrum)), max(1, len(spectrum) // 160))
    noise = np.fft.irfft(spectrum / steps**exponent, samples)
    return np.asarray(noise / (noise.std() + 1e-9), dtype=np.float32)


def _hum(rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    mains_hz = rng.choice([50.0, 60.0])
    hum: npt.NDArray[np.float64] = np.zeros_like(at_s)
    for harmonic in (1, 2, 3, 5, 7):
        hum += np.sin(2 * np.pi * mains_hz * harmonic * at_s) / harmonic
    return hum


def _tones(rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    on = (at_s % rng.uniform(0.2, 2.0)) < rng.uniform(0.1, 1.5)
    pair: npt.NDArray[np.float64] = np.zeros_like(at_s)
    for tone_hz in rng.uniform(200, 2500, size=2):
        pair += np.sin(2 * np.pi * tone_hz * at_s)
    return pair * on


def _clicks(rng: np.random.Generator, samples: int) -> npt.NDArray[np.float64]:
    sound = np.zeros(samples)
    for _ in range(int(rng.integers(1, 8))):
        start, length = int(rng.integers(0, samples)), int(rng.integers(20, 1200))
        click = rng.standard_normal(length) * np.exp(-np.arange(length) / (length / 5))
        sound[start : start + length] += click[: samples - start]
    return sound


def not_speech(kind: str, seed: int, seconds: float, level_db: float, rate_hz: int = 16000) -> npt.NDArray[np.float32]:
    """A clip without speech.

    Args:
        kind: one of `KINDS`.
        seed: the same seed makes the same clip.
        seconds: its length.
        level_db: its peak-free level relative to full scale, such as -40.

    Returns:
        Mono audio in -1..1, shape (seconds · rate_hz,).
    """
    rng = np.random.default_rng(seed)
    samples = int(seconds * rate_hz)
    at_s = np.arange(samples) / rate_hz
    gain = 10 ** (level_db / 20)
    if kind == "silence":
        return np.zeros(samples, np.float32)
    if kind in _COLOURS:
        sound = coloured_noise(rng, samples, _COLOURS[kind]).astype(np.float64)
    elif kind == "hum":
        sound = _hum(rng, at_s)
    elif kind == "tone":
        sound = _tones(rng, at_s)
    else:
        sound = _clicks(rng, samples)
    hiss = rng.standard_normal(samples) * 10 ** (rng.uniform(-90, -60) / 20)
    return np.clip(sound * gain + hiss, -1, 1).astype(np.float32)
