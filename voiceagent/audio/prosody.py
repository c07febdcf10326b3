"""Measures the end of an utterance's voice: the distance of its pitch and its loudness from their levels before. They move at the
end of a sentence, and not inside one (Gravano & Hirschberg 2011, "Turn-taking cues in task-oriented dialogue"). Pure; about 2 ms
a call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.turn_taking.endpointing import Prosody

FRAME_SAMPLES = 640
HOP_SAMPLES = 160
FFT_SAMPLES = 1024
LOWEST_HZ, HIGHEST_HZ = 60.0, 400.0
MIN_PERIODICITY = 0.5
"""A frame is voiced if its autocorrelation at the period is at least this share of that at zero."""
OCTAVE_SHARE = 0.9
"""The shortest period whose peak reaches this share of the highest one is taken: the others are its multiples."""
MAX_LEAP_ST = 10.0
"""Semitones from the median; frames further away are errors of the tracker."""
MIN_VOICED_FRAMES = 8
END_FRAMES = 3
END_BLOCKS = 10


def prosody_of(audio: NDArray[np.int16]) -> Prosody:
    """The prosody at the end of an utterance: one or two seconds up to its last voiced sample, mono 16 kHz, shape (samples,).
    Audio that is too short to measure has no fall."""
    if len(audio) < FRAME_SAMPLES * 2:
        return Prosody()
    first = (len(audio) - FRAME_SAMPLES) % HOP_SAMPLES
    windows = np.lib.stride_tricks.sliding_window_view(audio, FRAME_SAMPLES)[first::HOP_SAMPLES]
    frames: NDArray[np.float32] = windows.astype(np.float32) / np.float32(32768)
    levels = np.sqrt(np.square(frames).mean(axis=1)) + np.float32(1e-6)
    loud = levels > levels.max() / 20
    return Prosody(_pitch_fall_st(frames[loud]), _energy_fall_db(levels, loud))


def _pitch_fall_st(frames: NDArray[np.float32]) -> float | None:
    """Semitones by which the last voiced frames lie below the median of all; None when there are too few. Boersma 1993: the
    autocorrelation of the windowed sound, divided by the window's own, peaks at the period."""
    shortest, longest = int(HEARD_HZ / HIGHEST_HZ), int(HEARD_HZ / LOWEST_HZ)
    correlation = _autocorrelation((frames - frames.mean(axis=1, keepdims=True)) * _WINDOW)
    searched = correlation[:, shortest:longest] / (correlation[:, :1] + np.float32(1e-9)) / _OF_WINDOW[shortest:longest]
    highest = searched.max(axis=1)
    peaks = np.zeros(searched.shape, np.bool_)
    peaks[:, 1:-1] = (searched[:, 1:-1] >= searched[:, :-2]) & (searched[:, 1:-1] > searched[:, 2:])
    peaks &= searched >= OCTAVE_SHARE * highest[:, None]
    period = np.where(peaks.any(axis=1), peaks.argmax(axis=1), searched.argmax(axis=1)) + shortest
    pitch_st = 12 * np.log2(HEARD_HZ / period[highest > MIN_PERIODICITY])
    if len(pitch_st) < MIN_VOICED_FRAMES:
        return None
    pitch_st = pitch_st[np.abs(pitch_st - np.median(pitch_st)) < MAX_LEAP_ST]
    if len(pitch_st) < MIN_VOICED_FRAMES:
        return None
    return round(float(np.median(pitch_st) - np.median(pitch_st[-END_FRAMES:])), 2)


def _autocorrelation(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = np.fft.rfft(frames, FFT_SAMPLES)
    found: NDArray[np.float32] = np.fft.irfft(spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return found


_WINDOW = np.hanning(FRAME_SAMPLES).astype(np.float32)
_OF_WINDOW = _autocorrelation(_WINDOW[None])[0] / np.square(_WINDOW).sum() + np.float32(1e-3)


def _energy_fall_db(levels: NDArray[np.float32], loud: NDArray[np.bool_]) -> float:
    """Decibels by which the last 100 ms lie below the rest."""
    rest = levels[:-END_BLOCKS][loud[:-END_BLOCKS]]
    if not len(rest):
        return 0.0
    return round(float(20 * np.log10(rest.mean() / levels[-END_BLOCKS:].mean())), 2)
