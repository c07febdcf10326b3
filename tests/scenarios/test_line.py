"""The caller's line: each setting changes the sound as it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.people.people import recordings
from voiceagent.audio.resample import resample
from voiceagent.scenarios.scenario import CallerStep, Line
from voiceagent.scenarios.speech_caller import RATE_HZ, Pcm, on_the_line

SPEECH = resample(recordings("utterances")[0].audio(), 16_000, RATE_HZ)


def share_of(pcm: Pcm, low_hz: float, high_hz: float) -> float:
    power = np.abs(np.fft.rfft(pcm.astype(np.float64))) ** 2
    hz = np.fft.rfftfreq(len(pcm), 1 / RATE_HZ)
    return float(power[(hz >= low_hz) & (hz < high_hz)].sum() / power.sum())


def test_a_telephone_leaves_its_band() -> None:
    heard = on_the_line(SPEECH, Line(telephone=True))
    assert share_of(SPEECH, 3600, 24_000) + share_of(SPEECH, 0, 250) > 0.02
    assert share_of(heard, 250, 3600) > 0.995


@pytest.mark.parametrize("noise", [None, np.tile(np.array([900, -900], np.int16), 5000)])
def test_noise_is_as_far_below_the_speech_as_asked(noise: Pcm | None) -> None:
    added = on_the_line(SPEECH, Line(noise_db=15), noise).astype(np.float64) - SPEECH
    loud = SPEECH[np.abs(SPEECH) > np.abs(SPEECH).max() / 30].astype(np.float64)
    below_db = 20 * np.log10(np.sqrt(np.square(loud).mean()) / np.sqrt(np.square(added).mean()))
    assert below_db == pytest.approx(15, abs=0.5)


def test_a_clean_line_changes_nothing() -> None:
    assert np.array_equal(on_the_line(SPEECH, Line()), SPEECH)


@pytest.mark.parametrize(("keys", "typed"), [("4711#", "4711"), ("42", "42"), ("#", "#"), ("*9#", "*9")])
def test_keys_are_typed_without_the_one_that_ends_them(keys: str, typed: str) -> None:
    step: Any = CallerStep(press=keys)
    assert (step.text, step.does_something) == (typed, True)
