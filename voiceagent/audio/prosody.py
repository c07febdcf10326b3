"""How an utterance's voice ends: whether its pitch and its loudness have fallen, as they do at the end of a statement and
do not inside one (Gravano & Hirschberg 2011, "Turn-taking cues in task-oriented dialogue"). Pure; about 2 ms a call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.endpointing import Prosody

RATE_HZ = 16_000
FRAME_SAMPLES = 640
HOP_SAMPLES = 320
FFT_SAMPLES = 2048
LOWEST_HZ, HIGHEST_HZ = 60.0, 400.0
MIN_PERIODICITY = 0.5
"""Autocorrelation at the period, of that at zero, from which a frame is voiced."""
END_FRAMES = 8
MIN_VOICED_FRAMES = 4


def prosody_of(audio: NDArray[np.int16]) -> Prosody:
    """Of the end of an utterance: one or two seconds up to its last voiced sample, mono 16 kHz, shape (samples,). What is too
    short to tell has no fall."""
    if len(audio) < FRAME_SAMPLES * 2:
        return Prosody()
    first = (len(audio) - FRAME_SAMPLES) % HOP_SAMPLES
    windows = np.lib.stride_tricks.sliding_window_view(audio, FRAME_SAMPLES)[first::HOP_SAMPLES]
    frames: NDArray[np.float32] = windows.astype(np.float32) / np.float32(32768)
    levels = np.sqrt(np.square(frames).mean(axis=1)) + 1e-6
    loud = levels > levels.max() / 20
    return Prosody(_pitch_fall_st(frames, loud), _energy_fall_db(levels, loud))


def _pitch_fall_st(frames: NDArray[np.float32], loud: NDArray[np.bool_]) -> float | None:
    """Semitones by which the median of the last voiced frames lies below that of those before; None when there are too few."""
    spectrum = np.fft.rfft((frames - frames.mean(axis=1, keepdims=True)) * np.hanning(FRAME_SAMPLES), FFT_SAMPLES)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:, :FRAME_SAMPLES]
    shortest, longest = int(RATE_HZ / HIGHEST_HZ), int(RATE_HZ / LOWEST_HZ)
    taper = 1 - np.arange(shortest, longest) / FRAME_SAMPLES
    searched = correlation[:, shortest:longest] / taper
    period = searched.argmax(axis=1)
    strength = searched[np.arange(len(period)), period] / (correlation[:, 0] + 1e-9)
    voiced = loud & (strength > MIN_PERIODICITY)
    pitch_hz = RATE_HZ / (period + shortest)
    at = np.flatnonzero(voiced)
    last, before = at[at >= len(frames) - END_FRAMES], at[at < len(frames) - END_FRAMES]
    if len(last) < 2 or len(before) < MIN_VOICED_FRAMES:
        return None
    return round(float(12 * np.log2(np.median(pitch_hz[before]) / np.median(pitch_hz[last]))), 2)


def _energy_fall_db(levels: NDArray[np.float32], loud: NDArray[np.bool_]) -> float:
    """Decibels by which the last 100 ms lie below the rest."""
    rest = levels[:-5][loud[:-5]]
    if not len(rest):
        return 0.0
    return round(float(20 * np.log10(rest.mean() / levels[-5:].mean())), 2)
