"""The first moments of speech over the agent's, as numbers: what its spectrum is and how it moves, how its level and pitch move.
They say, sooner than words and less surely, whether the caller means to take the floor (`models/train/overlap_fit.py`). Loudness
itself is left out: it tells one microphone from another. Pure; well under a millisecond."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.interruption_weights import BIAS, WEIGHTS

RATE_HZ = 16_000
FRAME_SAMPLES, HOP_SAMPLES, FFT_SAMPLES = 400, 160, 512
BANDS = 18
LOWEST_HZ, HIGHEST_HZ = 100.0, 7000.0
MIN_FRAMES, MAX_FRAMES = 6, 32
"""Shorter speech says nothing; of longer only the first 335 ms count."""
LOWEST_PITCH_HZ, HIGHEST_PITCH_HZ = 70.0, 400.0
QUIET = 1e-7
LEAD_MS = 30.0
"""What is looked at begins so long before the onset: a soft consonant may stand there."""
LONGEST_MS = (FRAME_SAMPLES + HOP_SAMPLES * (MAX_FRAMES - 1)) * 1000 / RATE_HZ
"""And lasts so long at most."""

Features = NDArray[np.float32]


def chance(audio: NDArray[np.int16]) -> float:
    """How likely speech takes the floor: mono 16 kHz from `LEAD_MS` before its onset on, shape (samples,); 0 where it is too
    short to say."""
    found = features(audio)
    return 0.0 if found is None else float(1 / (1 + np.exp(-(found @ _weights() + BIAS))))


def features(audio: NDArray[np.int16]) -> Features | None:
    """The same speech as numbers; None where it is too short."""
    count = min(MAX_FRAMES, (len(audio) - FRAME_SAMPLES) // HOP_SAMPLES + 1)
    if count < MIN_FRAMES:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(audio, FRAME_SAMPLES)[::HOP_SAMPLES][:count]
    frames = windows.astype(np.float32) / np.float32(32768)
    power = np.square(np.abs(np.fft.rfft(frames * _WINDOW, FFT_SAMPLES)))
    bands = np.log(power @ _mel() + QUIET).astype(np.float32)
    level = bands.mean(axis=1)
    bands = bands - level[:, None]
    third = max(2, count // 3)
    shape = [bands.mean(axis=0), bands.std(axis=0), bands[-third:].mean(axis=0) - bands[:third].mean(axis=0)]
    crossings = np.abs(np.diff(np.signbit(frames).astype(np.int8), axis=1)).mean(axis=1)
    periodic, pitch = _pitch(power)
    voiced = periodic > 0.4
    heard = pitch[voiced] if voiced.any() else np.zeros(1, np.float32)
    moves = [
        level[-third:].mean() - level[:third].mean(),
        level[-2:].mean() - level.max(),
        level.std(),
        np.abs(np.diff(bands, axis=0)).mean(),
        np.abs(np.diff(bands, axis=0)).max(axis=1).max(),
        crossings.mean(),
        crossings.max(),
        crossings[-third:].mean() - crossings[:third].mean(),
        periodic.mean(),
        periodic[-third:].mean(),
        periodic[:third].mean(),
        heard[-1] - heard[0],
        heard.std(),
        count / MAX_FRAMES,
    ]
    found: Features = np.concatenate([*shape, bands[-3:].mean(axis=0), np.array(moves)]).astype(np.float32)
    return found


def _pitch(power: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How periodic each frame is, 0 to 1, and its period's logarithm."""
    correlation = np.fft.irfft(power)
    shortest, longest = int(RATE_HZ / HIGHEST_PITCH_HZ), int(RATE_HZ / LOWEST_PITCH_HZ)
    searched = correlation[:, shortest:longest] / (correlation[:, :1] + QUIET)
    return searched.max(axis=1).astype(np.float32), -np.log2(searched.argmax(axis=1) + shortest).astype(np.float32)


_WINDOW = np.hanning(FRAME_SAMPLES).astype(np.float32)


@cache
def _weights() -> Features:
    return np.array(WEIGHTS, np.float32)


@cache
def _mel() -> NDArray[np.float32]:
    """Triangles evenly on the mel scale, shape (bins, BANDS)."""
    mel = np.linspace(2595 * np.log10(1 + LOWEST_HZ / 700), 2595 * np.log10(1 + HIGHEST_HZ / 700), BANDS + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    at_hz = np.fft.rfftfreq(FFT_SAMPLES, 1 / RATE_HZ)[:, None]
    rise = (at_hz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - at_hz) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rise, fall), 0, None).astype(np.float32)
