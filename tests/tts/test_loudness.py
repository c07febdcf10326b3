"""The level of a voice is set once, and a sample's value depends on no other sample."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.tts.piper import Loudness

FULL = 32767


def speech(peak: float, samples: int = 16_000) -> np.ndarray:
    return (np.random.default_rng(1).laplace(size=samples) * peak / 9).clip(-peak, peak).astype(np.float32)


def test_ordinary_peaks_come_near_the_wanted_one_however_loud_the_voice_is() -> None:
    for peak in (0.01, 0.3, 1.2):
        loud = np.abs(Loudness.of(speech(peak), 0.5).pcm(speech(peak))).astype(int)
        assert 0.2 * FULL < np.quantile(loud, 0.99) < 0.3 * FULL


def test_silence_stays_silence() -> None:
    for silence in (np.zeros(100, np.float32), np.zeros(0, np.float32)):
        assert not Loudness.of(silence, 0.8).pcm(np.ones(10, np.float32)).any()


@given(st.lists(st.floats(-50, 50, width=32), max_size=50), st.floats(0.01, 1.0), st.floats(0.01, 10.0))
def test_louder_in_is_louder_out_and_never_clipped(values: list[float], peak: float, gain: float) -> None:
    audio = np.array(sorted(values), np.float32)
    pcm = Loudness(gain, peak).pcm(audio)
    assert pcm.dtype == np.int16
    assert np.all(np.diff(pcm.astype(int)) >= 0)
    assert np.array_equal(pcm, -Loudness(gain, peak).pcm(-audio))


@given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=50), st.integers(0, 50))
def test_chunks_are_as_loud_as_the_whole(values: list[float], cut: int) -> None:
    audio, loudness = np.array(values, np.float32), Loudness(1.3, 0.8)
    parts = [loudness.pcm(audio[:cut]), loudness.pcm(audio[cut:])]
    assert np.array_equal(np.concatenate(parts), loudness.pcm(audio))
