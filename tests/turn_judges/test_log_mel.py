"""The features that Smart Turn listens to, against those of its authors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.turn_judges.glides import GLIDES, PLACES, RATE_HZ, Glide
from voiceagent.turn_judges.smart_turn import FILTERS, FLOOR, FRAMES, HANN, HOP, MELS, SAMPLES, WINDOW, log_mel


@pytest.mark.parametrize("glide", GLIDES)
def test_the_features_are_those_the_model_learned_on(glide: Glide) -> None:
    features = log_mel(glide.audio)
    assert features.shape == (MELS, FRAMES)
    assert features.dtype == np.float32
    found = (features.mean(), features.std(), *(features[place] for place in PLACES))
    assert found == pytest.approx(glide.features, abs=2e-6)


@pytest.mark.parametrize("length", [1, WINDOW // 2, WINDOW, SAMPLES - WINDOW, SAMPLES - WINDOW // 2, SAMPLES - 1, SAMPLES])
def test_padding_is_transformed_once_and_comes_out_as_if_each_window_had_been(length: int) -> None:
    audio = np.random.default_rng(length).normal(0, 800, length).astype(np.int16)
    wave = np.pad(audio.astype(np.float32) / 32768.0, (SAMPLES - length, 0)).astype(np.float32)
    wave = (wave - wave.mean()) / np.sqrt(wave.var() + 1e-7)
    padded = np.pad(wave.astype(np.float64), WINDOW // 2, mode="reflect")
    assert np.allclose(log_mel(audio), _each_window(padded), atol=1e-6)


def _each_window(padded: np.ndarray) -> np.ndarray:
    windows = np.stack([padded[index * HOP : index * HOP + WINDOW] for index in range(FRAMES)])
    power = np.abs(np.fft.rfft(windows * HANN, axis=-1)) ** 2
    mels = np.log10(np.maximum(FLOOR, FILTERS @ power.T))
    features: np.ndarray = ((np.maximum(mels, mels.max() - 8.0) + 4.0) / 4.0).astype(np.float32)
    return features


def test_of_longer_audio_the_end_counts() -> None:
    audio = np.random.default_rng(0).normal(0, 800, 10 * RATE_HZ).astype(np.int16)
    assert np.array_equal(log_mel(audio), log_mel(audio[-SAMPLES:]))


def test_silence_has_features_too() -> None:
    assert np.isfinite(log_mel(np.zeros(RATE_HZ, np.int16))).all()
