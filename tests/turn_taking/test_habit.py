"""A caller's habit, and what it weighs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.turn_taking.endpointing import EndpointModel, Habit, PauseEvidence, Prosody
from voiceagent.turn_taking.languages.en import ENGLISH


def delay_ms(habit: Habit) -> float:
    pause = PauseEvidence("I would like to move my appointment", "", 1500.0, Prosody(), judged={"ear": 0.7}, habit=habit)
    return EndpointModel().delays(pause, ENGLISH, shortest_ms=200, longest_ms=2100).endpoint_ms


def test_nothing_is_known_at_first() -> None:
    assert Habit().log_odds == 0.0


def test_a_caller_who_has_paused_inside_turns_is_waited_for_longer_than_one_who_has_not() -> None:
    assert delay_ms(Habit(0, 5)) < delay_ms(Habit()) < delay_ms(Habit(5, 0))


@pytest.mark.parametrize("pauses", [1, 2])
def test_a_single_pause_moves_the_delay_by_little(pauses: int) -> None:
    assert delay_ms(Habit(pauses, 0)) < 1.5 * delay_ms(Habit())


@given(went_on=st.integers(0, 1000), ended=st.integers(0, 1000))
def test_more_pauses_that_went_on_make_an_end_less_likely(went_on: int, ended: int) -> None:
    assert Habit(went_on + 1, ended).log_odds < Habit(went_on, ended).log_odds < Habit(went_on, ended + 1).log_odds
