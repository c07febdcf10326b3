"""What words and voice say about a pause; also outside the bundled models' domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.turn_taking.endpoint_features import features
from voiceagent.turn_taking.endpoint_weights import TRAINED
from voiceagent.turn_taking.endpointing import EndpointModel, Holds
from voiceagent.turn_taking.pause import PauseEvidence, Prosody

MODEL = EndpointModel()
FALLING, LEVEL = Prosody(4.0, 4.0), Prosody(0.2, 0.0)
SHORTEST_MS, LONGEST_MS = 200.0, 2000.0


def holds(words: str, prosody: Prosody = FALLING, asked: str = "", voiced_ms: float = 1500.0) -> Holds:
    evidence = PauseEvidence(words, asked, voiced_ms, prosody)
    return MODEL.holds(evidence, shortest_ms=SHORTEST_MS, longest_ms=LONGEST_MS)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("What time is it in Paris?", ""),
        ("Book a table for four on Friday at 7 PM.", ""),
        ("Yes.", "Shall I book it?"),
        ("Four people.", "For how many people?"),
        ("On Friday at 7 PM.", "For which day and time?"),
        ("Where is the nearest station?", ""),
        ("I would like to talk to somebody about my invoice.", ""),
        ("No, thank you.", "Is there anything else I can do?"),
    ],
)
def test_what_is_finished_is_committed_soon(words: str, asked: str) -> None:
    assert holds(words, asked=asked).endpoint_ms <= 500


@pytest.mark.parametrize(
    "words",
    [
        "I want to",
        "Book a table for",
        "My name is",
        "What's the weather in",
        "I was wondering if",
        "Set a timer for",
        "So, um",
        "We need two rooms and",
        "My order number is 4 8",
        "If my parcel is late",
    ],
)
def test_what_plainly_goes_on_is_waited_for(words: str) -> None:
    assert holds(words, LEVEL).endpoint_ms >= 900


def test_a_short_answer_to_a_question_is_finished() -> None:
    asked = holds("four people", LEVEL, asked="For how many people?")
    assert asked.endpoint_ms < holds("four people", LEVEL).endpoint_ms - 50


def test_a_falling_voice_shortens_the_wait() -> None:
    assert holds("book a table for four", FALLING).endpoint_ms < holds("book a table for four", LEVEL).endpoint_ms


def test_a_code_with_too_few_digits_is_waited_for_longer() -> None:
    assert holds("Order 48.", LEVEL).endpoint_ms > holds("Order 48213.", LEVEL).endpoint_ms


def test_a_question_is_not_taken_for_half_a_sentence() -> None:
    assert holds("When will it arrive?", LEVEL).endpoint_ms < holds("When I will be there?", LEVEL).endpoint_ms
    assert holds("Do you know what day it is?", LEVEL).endpoint_ms < holds("Do you know what day is?", LEVEL).endpoint_ms


def test_a_guess_is_begun_at_once_where_an_end_is_likely() -> None:
    assert holds("What time is it?").eager_ms == 0


@given(
    words=st.text(max_size=60) | st.lists(st.sampled_from(["to", "4", "7:30", "PM.", "table", "thank", "you?"])).map(" ".join),
    asked=st.text(max_size=30) | st.just("For which day and time?"),
    pitch_st=st.none() | st.floats(-50, 50),
    energy_db=st.floats(-90, 90),
    voiced_ms=st.floats(0, 1e6),
)
def test_any_evidence_gives_holds_within_their_bounds(
    words: str, asked: str, pitch_st: float | None, energy_db: float, voiced_ms: float
) -> None:
    found = holds(words, Prosody(pitch_st, energy_db), asked, voiced_ms)
    assert 0 <= found.eager_ms <= found.endpoint_ms
    assert SHORTEST_MS <= found.endpoint_ms <= LONGEST_MS


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_sooner(one: float, other: float) -> None:
    surer, less = max(one, other), min(one, other)
    assert MODEL.holds_for(surer, 200, 2000).endpoint_ms <= MODEL.holds_for(less, 200, 2000).endpoint_ms


def test_every_feature_has_a_weight() -> None:
    texts = ["", "Set a timer.", "Book a table at 7", "Order 48?", "What's the weather in", "Thank you.", "How are you?"]
    found = {name for text in texts for name in features(PauseEvidence(text, "For which day?", 900.0, LEVEL))}
    assert found - set(TRAINED) <= {"no_words"}
