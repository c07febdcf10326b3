"""What words and voice say about a pause; also outside the bundled models' domain."""

from __future__ import annotations

import pytest

from voiceagent.conversation.endpointing import EndpointModel, PauseEvidence, Prosody

MODEL = EndpointModel()
FALLING, LEVEL = Prosody(3.0, 4.0), Prosody(-0.2, 0.0)


def hold_ms(words: str, prosody: Prosody = FALLING, asked: str = "") -> float:
    evidence = PauseEvidence(words, asked, 1500.0, prosody)
    return MODEL.holds(evidence, shortest_ms=200, longest_ms=1500).endpoint_ms


@pytest.mark.parametrize(
    "words",
    ["What time is it in Paris?", "Book a table for four on Friday at 7 PM.", "Yes.", "Stop.", "Where is the nearest station?",
     "I would like to talk to somebody about my invoice."],
)  # fmt: skip
def test_what_is_finished_is_committed_soon(words: str) -> None:
    assert hold_ms(words) <= 300


@pytest.mark.parametrize(
    "words",
    ["I want to", "Book a table for", "My name is", "What's the weather in", "I was wondering if", "Set a timer for", "So, um",
     "We need two rooms and", "My order number is 4 8"],
)  # fmt: skip
def test_what_plainly_goes_on_is_waited_for(words: str) -> None:
    assert hold_ms(words, LEVEL) >= 900


def test_a_short_answer_to_a_question_is_finished() -> None:
    assert hold_ms("four people", asked="For how many people?") < hold_ms("four people") - 100


def test_a_falling_voice_shortens_the_wait() -> None:
    assert hold_ms("book a table for four", FALLING) < hold_ms("book a table for four", LEVEL)


def test_a_guess_is_begun_at_once_where_an_end_is_likely() -> None:
    evidence = PauseEvidence("What time is it?", "", 1000.0, FALLING)
    assert MODEL.holds(evidence, shortest_ms=200, longest_ms=1500).eager_ms == 0
