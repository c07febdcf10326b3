"""Synthetic speech for the tests of every room: a text in, 16 kHz audio with known edges out."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from models.train.espeak import Espeak

RATE_HZ = 16_000


@functools.cache
def said(text: str, voice: str = "en-us") -> NDArray[np.int16]:
    """`text` spoken by espeak-ng without silence around it; mono 16 kHz, peak at half of full scale."""
    audio = Espeak().say(text, voice).resampled(RATE_HZ)
    first, last = edges(audio)
    pcm: NDArray[np.int16] = (audio[first:last] / np.abs(audio).max() * 0.5 * 32767).astype(np.int16)
    return pcm


def edges(audio: NDArray[np.float32], below_peak_db: float = 30.0) -> tuple[int, int]:
    """The first and the last sample that are less than `below_peak_db` below the loudest 10 ms."""
    blocks = audio[: len(audio) // 160 * 160].reshape(-1, 160)
    levels = np.sqrt(np.square(blocks.astype(np.float64)).mean(axis=1))
    loud = np.flatnonzero(levels > levels.max() * 10 ** (-below_peak_db / 20))
    return int(loud[0]) * 160, (int(loud[-1]) + 1) * 160


def silence(duration_ms: float) -> NDArray[np.int16]:
    """Digital silence."""
    return np.zeros(int(duration_ms * RATE_HZ / 1000), np.int16)


def noise(duration_ms: float, level: float, seed: int = 0) -> NDArray[np.int16]:
    """White noise of an RMS of `level` (1 is full scale)."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0, level * 32767, int(duration_ms * RATE_HZ / 1000)), -32768, 32767).astype(np.int16)


def tone(duration_ms: float, frequency_hz: float, level: float = 0.3) -> NDArray[np.int16]:
    """A sine."""
    time_s = np.arange(int(duration_ms * RATE_HZ / 1000)) / RATE_HZ
    return (np.sin(2 * np.pi * frequency_hz * time_s) * level * 32767).astype(np.int16)


def frames(*parts: NDArray[np.int16]) -> list[NDArray[np.int16]]:
    """The parts one after the other, cut into whole frames of 20 ms; the rest is padded with silence."""
    audio = np.concatenate(parts)
    audio = np.pad(audio, (0, -len(audio) % 320))
    return list(audio.reshape(-1, 320))
