"""What speech over the agent's means, from its words and its length."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.overlap import Overlap, classify

SAID = "The first one is Italian and has a quiet garden."


def verdict(words: str, voiced_ms: float = 600.0, *, silent: bool = True, said: str = SAID, asked: bool = False) -> str:
    return classify(Overlap(words, voiced_ms, silent, said, asked))


@pytest.mark.parametrize("words", ["Stop.", "Wait", "No, I meant Rome.", "Hold on.", "hang on a second", "Excuse me."])
@pytest.mark.parametrize("silent", [True, False])
def test_a_command_takes_the_floor_at_once(words: str, silent: bool) -> None:
    assert verdict(words, 150.0, silent=silent) == "yield"


@pytest.mark.parametrize("words", ["Mm-hm.", "Okay.", "Yeah, right.", "Oh, I see.", "Okay, great."])
def test_signs_of_listening_do_not(words: str) -> None:
    assert verdict(words) == "continue"
    assert verdict(words, 2000.0, silent=False) == "wait"


@pytest.mark.parametrize(
    ("words", "voiced_ms"), [("Hamburg", 350.0), ("Hang.", 500.0), ("write", 440.0), ("Oh, they.", 450.0), ("there hot", 250.0)]
)
def test_what_a_recogniser_makes_of_a_mumble_does_not(words: str, voiced_ms: float) -> None:
    assert verdict(words, voiced_ms) == "continue"


@pytest.mark.parametrize(
    ("words", "voiced_ms"),
    [("75.", 280.0), ("For Berlin.", 550.0), ("What", 200.0), ("Tomorrow.", 650.0), ("a table for two", 700.0), ("Berlin", 0.0)],
)
def test_words_that_mean_something_do_once_the_caller_is_silent(words: str, voiced_ms: float) -> None:
    assert verdict(words, voiced_ms) == "yield"


def test_three_words_do_before_the_caller_is_silent_and_fewer_may_become_more() -> None:
    assert verdict("what is the", 500.0, silent=False) == "yield"
    assert verdict("what is", 500.0, silent=False) == "wait"
    assert verdict("what is", 900.0, silent=False) == "yield"
    assert verdict("what is the", 200.0, silent=False) == "wait"


def test_a_short_answer_to_a_question_does() -> None:
    assert verdict("Yes.", 300.0, said="Shall I book it?", asked=True) == "yield"
    assert verdict("Rome.", 300.0, said="In which city?", asked=True) == "yield"


def test_the_agents_own_words_and_no_words_do_not() -> None:
    assert verdict("has a quiet garden", 900.0) == "continue"
    assert verdict("", 900.0) == "continue"
    assert verdict("", 900.0, silent=False) == "wait"
