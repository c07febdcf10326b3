"""How a voice ended, on sounds whose pitch is known and on speech."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.speech import noise, said, silence
from voiceagent.audio.prosody import prosody_of
from voiceagent.turn_taking.endpointing import Prosody

RATE_HZ = 16_000


def buzz(pitch_hz: NDArray[np.float64]) -> NDArray[np.int16]:
    """A voice-like sound: harmonics of a pitch given for each sample."""
    phase = 2 * np.pi * np.cumsum(pitch_hz) / RATE_HZ
    return (sum((np.sin(n * phase) / n for n in range(1, 12)), np.zeros(len(phase))) * 6000).astype(np.int16)


@pytest.mark.parametrize("moved_st", [-6.0, -3.0, 0.0, 3.0, 6.0])
@pytest.mark.parametrize("pitch_hz", [90.0, 140.0, 250.0])
def test_the_pitch_at_the_very_end_is_told_from_the_rest(moved_st: float, pitch_hz: float) -> None:
    steady = np.full(16_000, pitch_hz)
    glide = pitch_hz * 2 ** (np.linspace(0, -moved_st, 1600) / 12)
    found = prosody_of(buzz(np.concatenate([steady, glide, np.full(1600, glide[-1])])))
    assert found.pitch_fall_st == pytest.approx(moved_st, abs=0.6)


def test_noise_and_silence_have_no_pitch() -> None:
    assert prosody_of(noise(1000, 0.1)).pitch_fall_st is None
    assert prosody_of(silence(1000)).pitch_fall_st is None


def test_what_is_too_short_tells_nothing() -> None:
    assert prosody_of(silence(60)) == Prosody()


def test_a_voice_that_fades_has_fallen() -> None:
    loud = buzz(np.full(16_000, 120.0))
    faded = np.concatenate([loud, (loud[:1600] * 0.2).astype(np.int16)])
    assert prosody_of(faded).energy_fall_db > 6


def test_a_statement_falls_further_at_its_end_than_inside() -> None:
    sentence = said("Book a table for four people on Friday.")
    whole, inside = prosody_of(sentence), prosody_of(sentence[: len(sentence) * 55 // 100])
    assert whole.pitch_fall_st is not None
    assert inside.pitch_fall_st is not None
    assert abs(whole.pitch_fall_st) > abs(inside.pitch_fall_st)
