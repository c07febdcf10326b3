"""What a question is about, and whether an answer is just that."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.patience import ExpectedValue, ValueShape, expected_value

PEOPLE = ValueShape("number", hints=frozenset({"people", "the", "number", "of"}))
SIZE = ValueShape("choice", hints=frozenset({"size"}), choices=("small", "extra large"))
DAY = ValueShape(
    "choice", hints=frozenset({"day"}), choices=("mon", "tue", "wed", "thu", "fri", "sat", "sun", "today", "tomorrow")
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("For how many people?", ExpectedValue(digits=True)),
        ("Which size would you like?", ExpectedValue(choices=("small", "extra large"))),
        ("For how many people, and in which size?", ExpectedValue(True, ("small", "extra large"))),
        ("What is the name of the town?", ExpectedValue()),
        ("On which day?", ExpectedValue()),
        ("A table for four people is booked.", ExpectedValue()),
    ],
)
def test_a_question_tells_the_value_by_the_words_of_its_name(question: str, expected: ExpectedValue) -> None:
    assert expected_value((PEOPLE, SIZE, DAY), question, language("en")) == expected


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        *(
            ("Seven.", True),
            ("4 8 2", True),
            ("Thirty-three.", True),
            ("Two, oh.", True),
            ("Extra-large", True),
            ("Small!", True),
        ),
        *(("Seven people.", False), ("Bye.", False), ("A small one", False), ("", False)),
    ],
)
def test_an_answer_is_the_value_alone(text: str, holds: bool) -> None:
    assert ExpectedValue(True, ("small", "extra large")).holds(text, language("en")) is holds
