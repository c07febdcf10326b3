"""Tones, how loud they are in what was heard, and the tones of telephone lines (ITU-T E.180, E.182): each a cadence of
frequencies and seconds; no frequencies are silence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


RATE_HZ = 16_000
Cadence = tuple[tuple[tuple[float, ...], float], ...]
CADENCES: dict[str, Cadence] = {
    "ring-back, United States": (((440, 480), 2.0), ((), 4.0)),
    "ring-back, United Kingdom": (((400, 450), 0.4), ((), 0.2), ((400, 450), 0.4), ((), 2.0)),
    "ring-back, Australia": (((400, 425, 450), 0.4), ((), 0.2), ((400, 425, 450), 0.4), ((), 2.0)),
    "ring-back, Germany": (((425,), 1.0), ((), 4.0)),
    "ring-back, Spain": (((425,), 1.5), ((), 3.0)),
    "ring-back, France": (((440,), 1.5), ((), 3.5)),
    "ring-back, Portugal": (((425,), 1.0), ((), 5.0)),
    "ring-back, Russia": (((425,), 0.8), ((), 3.2)),
    "ring-back, China": (((450,), 1.0), ((), 4.0)),
    "busy, United States": (((480, 620), 0.5), ((), 0.5)),
    "busy, Germany": (((425,), 0.48), ((), 0.48)),
    "busy, Spain": (((425,), 0.2), ((), 0.2)),
    "busy, United Kingdom": (((400,), 0.375), ((), 0.375)),
    "congestion, United States": (((480, 620), 0.25), ((), 0.25)),
    "congestion, Germany": (((425,), 0.24), ((), 0.24)),
    "information tone": (((950,), 0.33), ((1400,), 0.33), ((1800,), 0.33), ((), 1.0)),
    "information tone with gaps": (((950,), 0.33), ((), 0.03), ((1400,), 0.33), ((), 0.03), ((1800,), 0.33), ((), 1.0)),
    "dial tone": (((350, 440), 5.0),),
    "fax that calls": (((1100,), 0.5), ((), 3.0)),
    "fax that answers": (((2100,), 3.0), ((), 0.1)),
}


def line(name: str, seconds: float, amplitude: float = 4_000.0) -> NDArray[np.int16]:
    """So much of a cadence, again and again; mono 16 kHz, whole frames of 20 ms."""
    parts, length = [], 0
    while length < seconds * RATE_HZ:
        for tones, lasts_s in CADENCES[name]:
            at_s = np.arange(int(lasts_s * RATE_HZ)) / RATE_HZ
            waves = [np.sin(2 * np.pi * hz * at_s) for hz in tones] or [np.zeros(len(at_s))]
            parts.append(amplitude / max(1, len(tones)) * np.sum(waves, axis=0))
            length += len(at_s)
    return np.concatenate(parts)[: int(seconds * 50) * 320].astype(np.int16)
