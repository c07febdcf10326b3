"""Whisper's log-mel spectrogram of the last 8 s, in the form on which Smart Turn was trained. The wave is padded in front and
brought to mean 0 and variance 1; then come 400-sample Hann windows every 160 samples, 80 Slaney mels, and the logarithm, cut 8
decades below its peak (transformers, `WhisperFeatureExtractor` with `do_normalize`). The padding has one value everywhere, so one
of its windows stands for all."""

from __future__ import annotations

import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

RATE_HZ = 16_000
SAMPLES = 8 * RATE_HZ
FRAMES, MELS = 800, 80
WINDOW, HOP = 400, 160
FLOOR, DECADES = 1e-10, 8.0
VARIANCE_FLOOR = 1e-7
HANN = np.hanning(WINDOW + 1)[:-1]
FILTERS: NDArray[np.float64] = np.asarray(FeatureExtractor.get_mel_filters(RATE_HZ, WINDOW, MELS), np.float64)
"""Shape (80, 201)."""


def log_mel(audio: NDArray[np.int16]) -> NDArray[np.float32]:
    """The features of mono 16 kHz audio; only the last 8 s count; shape (80, 800)."""
    heard = audio[-SAMPLES:]
    padding = SAMPLES - len(heard)
    wave = np.zeros(SAMPLES, np.float32)
    wave[padding:] = heard.astype(np.float32) / np.float32(32768.0)
    wave = (wave - wave.mean()) / np.sqrt(wave.var() + VARIANCE_FLOOR)
    padded = np.pad(wave.astype(np.float64), WINDOW // 2, mode="reflect")
    same = _windows_of_padding(padding)
    first = max(0, same - 1)
    windows = sliding_window_view(padded, WINDOW)[first * HOP : FRAMES * HOP : HOP]
    spectrum = np.fft.rfft(windows * HANN, axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    mels = np.log10(np.maximum(FLOOR, FILTERS @ power.T))
    mels = (np.maximum(mels, mels.max() - DECADES) + 4.0) / 4.0
    features = np.empty((MELS, FRAMES), np.float32)
    features[:, first:] = mels
    features[:, :first] = mels[:, :1]
    return features


def _windows_of_padding(padding: int) -> int:
    """How many of the first windows hold nothing but padding; the very first ones mirror it."""
    whole = padding - WINDOW // 2
    return whole // HOP + 1 if whole > 0 else 0
