"""Each gate closes on the input that it is there for, and speech passes all of them."""

from __future__ import annotations

import zlib

import pytest

from voiceagent.stt.gates import GateLimits, rejection
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord


def hypothesis(text: str, *, no_speech: float = 0.05, log_probability: float = -0.3, ratio: float | None = None) -> Hypothesis:
    words = tuple(RecognisedWord(word, 0.0, 0.0, 1.0) for word in text.split())
    data = text.encode()
    return Hypothesis(words, no_speech, log_probability, len(data) / len(zlib.compress(data)) if ratio is None else ratio)


@pytest.mark.parametrize(
    ("heard", "voiced_ms", "reason"),
    [
        (hypothesis("What time is it in Paris?"), 1500, ""),
        (hypothesis("Yes."), 250, ""),
        (hypothesis(""), 100, ""),
        (hypothesis("4 4 4 4 4 4"), 2500, ""),
        (hypothesis("No, no, no."), 900, ""),
        (hypothesis("Thank you.", no_speech=0.8, log_probability=-1.2), 800, "no_speech"),
        (hypothesis("Thank you.", no_speech=0.8, log_probability=-0.2), 800, ""),
        (hypothesis("Thank you.", log_probability=-2.4), 800, "log_probability"),
        (hypothesis("the people of the people of the people of the people of the people of " * 3), 20_000, "compression_ratio"),
        (hypothesis("so so so so so"), 2000, "repetition"),
        (hypothesis("I know, I know. I know, I know."), 3000, "repetition"),
        (hypothesis("Thank you for watching this video."), 300, "too_many_words"),
    ],
)
def test_a_gate_closes_on_its_input(heard: Hypothesis, voiced_ms: float, reason: str) -> None:
    assert rejection(heard, voiced_ms, GateLimits()) == reason


def test_the_limits_belong_to_the_model() -> None:
    heard = hypothesis("Thank you.", log_probability=-2.4)
    assert rejection(heard, 800, GateLimits(log_probability=-3.0)) == ""
