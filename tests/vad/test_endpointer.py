"""Silence alone: guess early, decide at the hold."""

from __future__ import annotations

import pytest

from voiceagent.vad.detector import SpeechProgress
from voiceagent.vad.endpointer import SilenceEndpointer


@pytest.mark.parametrize(
    ("silence_ms", "decision"), [(0, "none"), (199, "none"), (200, "eager"), (499, "eager"), (500, "endpoint"), (900, "endpoint")]
)
def test_silence_is_first_a_guess_and_then_the_end(silence_ms: float, decision: str) -> None:
    endpointer = SilenceEndpointer(hold_ms=500, eager_ms=200)
    assert endpointer.decide(SpeechProgress(800, silence_ms, 1000), "book a table") == decision


def test_a_short_hold_guesses_in_good_time() -> None:
    assert SilenceEndpointer(hold_ms=200).eager_ms == 80
    assert SilenceEndpointer(hold_ms=1000).eager_ms == 200
    assert SilenceEndpointer(hold_ms=100, eager_ms=300).eager_ms == 100
