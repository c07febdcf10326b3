"""A question for a value tells the recogniser to expect it."""

from __future__ import annotations

import pytest

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation.rules import Phrases, Rules, ToolRule
from voiceagent.turn_taking.patience import ExpectedValue, ValueShape

PEOPLE = ValueShape("number", hints=frozenset({"people"}))
CODE = ValueShape("digits", 5, 5, frozenset({"order", "number"}))
NAME = ValueShape("characters", 2, 64, frozenset({"name"}))


def expected_after(greeting: str) -> bool:
    world = World(
        Rules(
            language="en",
            phrases=Phrases(greeting=greeting),
            tools={"book": ToolRule("none", values=(PEOPLE, NAME)), "track": ToolRule("none", values=(CODE,))},
        )
    )
    world.begin()
    world.play_all()
    world.speech()
    return act.ExpectValue(1, ExpectedValue(digits=True)) in world.actions


@pytest.mark.parametrize("question", ["For how many people?", "Good day. What is your order number?"])
def test_digits_are_expected_after_a_question_for_them(question: str) -> None:
    assert expected_after(question)


@pytest.mark.parametrize("question", ["", "Your table for four people is booked.", "Under which name?", "Which day?"])
def test_none_are_expected_otherwise(question: str) -> None:
    assert not expected_after(question)
