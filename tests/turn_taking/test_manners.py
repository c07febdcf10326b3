from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.manners import MANNERS, Manners
from voiceagent.turn_taking.overlap import Overlap, leaning

PATIENT = Manners("duck", pause_after_ms=300, patience_ms=800)


@pytest.mark.parametrize(
    ("words", "look"),
    [("", "unknown"), ("Okay", "listening"), ("Good. In", "taking"), ("once upon", "listening"), ("I need", "taking")],
)
def test_first_words_look_like_listening_like_taking_the_floor_or_like_nothing(words: str, look: str) -> None:
    assert leaning(words, Overlap(words, 300, False, "Once upon a time", ""), language("en")) == look


def test_long_speech_pauses_the_reply_and_short_speech_does_not() -> None:
    assert PATIENT.pauses(300, 0, "unknown")
    assert not PATIENT.pauses(280, 0, "unknown")


def test_what_is_over_pauses_nothing_however_long_it_was() -> None:
    assert not PATIENT.pauses(320, 60, "unknown")


def test_backchannels_get_more_time() -> None:
    assert not PATIENT.pauses(700, 0, "listening")
    assert PATIENT.pauses(800, 0, "listening")


def test_other_words_pause_the_reply_at_once() -> None:
    assert PATIENT.pauses(120, 60, "taking")


def test_eager_falls_silent_at_the_onset_and_the_others_do_not() -> None:
    assert {name: manners.onset for name, manners in MANNERS.items()} == {"eager": "pause", "duck": "duck", "wait": "go on"}
