from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.overlap import MANNERS, Manners, Overheard, Overlap, leaning

PATIENT = Manners("duck", pause_after_ms=300, patience_ms=800, hush_after_ms=100, hush_ms=180)


@pytest.mark.parametrize(
    ("words", "look"),
    [
        ("", "unknown"),
        ("Okay", "listening"),
        ("Hahaha", "listening"),
        ("Good. In", "taking"),
        ("once upon", "listening"),
        ("I need", "taking"),
    ],
)
def test_first_words_look_like_listening_like_taking_the_floor_or_like_nothing(words: str, look: str) -> None:
    assert leaning(words, Overlap(words, 300, False, "Once upon a time", ""), language("en")) == look


def test_a_few_words_in_a_sound_that_is_unlike_words_look_like_nothing() -> None:
    assert leaning("Get me out!", Overlap("", 300, False, "Once upon a time", "", 0.1), language("en")) == "unknown"
    assert leaning("Get me out of there", Overlap("", 300, False, "Once upon a time", "", 0.1), language("en")) == "taking"


def test_long_speech_pauses_the_reply_and_short_speech_does_not() -> None:
    assert PATIENT.pauses(Overheard(300, 0, "unknown"))
    assert not PATIENT.pauses(Overheard(280, 0, "unknown"))


def test_a_sound_that_is_unlike_words_pauses_and_hushes_nothing_however_long_it_is() -> None:
    assert not PATIENT.pauses(Overheard(1900, 0, "unknown", 0.05))
    assert not PATIENT.hushes(Overheard(1900, 0, "unknown", 0.05))
    assert PATIENT.pauses(Overheard(300, 0, "unknown", 0.9))


def test_what_is_over_pauses_nothing_however_long_it_was() -> None:
    assert not PATIENT.pauses(Overheard(320, 60, "unknown"))


def test_backchannels_get_more_time() -> None:
    assert not PATIENT.pauses(Overheard(700, 0, "listening"))
    assert PATIENT.pauses(Overheard(800, 0, "listening"))


def test_other_words_pause_the_reply_at_once() -> None:
    assert PATIENT.pauses(Overheard(120, 60, "taking"))


def test_a_little_sound_hushes_the_reply() -> None:
    assert PATIENT.hushes(Overheard(100, 0, "unknown"))
    assert not PATIENT.hushes(Overheard(80, 0, "unknown"))
    assert PATIENT.hushes(Overheard(100, 0, "unknown", 0.2)), "the judgement of so little sound is unsure"
    assert not MANNERS["duck"].hushes(Overheard(300, 0, "unknown"))


@pytest.mark.parametrize(
    ("heard", "silent"),
    [
        (Overheard(200, 0, "unknown", 0.9), True),
        (Overheard(200, 60, "unknown", 0.9), False),
        (Overheard(300, 0, "unknown", 0.2), False),
        (Overheard(300, 0, "listening", 0.9), False),
    ],
    ids=["still said", "over", "unlike words", "a backchannel"],
)
def test_a_hushed_reply_stays_silent_for_what_is_still_said_and_sounds_like_words(heard: Overheard, silent: bool) -> None:
    assert PATIENT.stays_hushed(heard) == silent


def test_no_manners_fall_silent_at_the_mere_onset() -> None:
    assert {name: manners.onset for name, manners in MANNERS.items()} == {"eager": "duck", "duck": "duck", "wait": "go on"}


def test_words_in_less_speech_than_they_take_look_like_nothing() -> None:
    assert leaning("Thought it", Overlap("", 220, False, "Once upon a time", ""), language("en")) == "unknown"
    assert leaning("Thought it", Overlap("", 300, False, "Once upon a time", ""), language("en")) == "taking"
