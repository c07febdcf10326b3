"""Tones, and how loud they are in what was heard."""

from __future__ import annotations

import numpy as np

PHONE_HZ = 8_000


def tone(seconds: float, hz: float, rate_hz: int = PHONE_HZ) -> np.ndarray:
    return (np.sin(np.arange(int(seconds * rate_hz)) * 2 * np.pi * hz / rate_hz) * 8000).astype(np.int16)


def level_at(pcm: np.ndarray, hz: float, rate_hz: int = PHONE_HZ) -> float:
    """How loud the loudest fifth of a second is at a frequency."""
    size = rate_hz // 5
    wave = np.exp(-2j * np.pi * hz / rate_hz * np.arange(size))
    parts = pcm[: len(pcm) // size * size].reshape(-1, size)
    return float(np.abs(parts @ wave).max() * 2 / size) if len(parts) else 0.0


def is_loud(hz: float, pcm: np.ndarray) -> bool:
    return level_at(pcm, hz) > 4000
