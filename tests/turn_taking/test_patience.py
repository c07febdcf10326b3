"""How far a value that is asked for has come, from what it looks like."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.patience import ValueShape, pending, progress

CODE = ValueShape("digits", 5, 5, frozenset({"order", "number"}))
MAIL = ValueShape("email", hints=frozenset({"email", "address"}))
PHONE = ValueShape("phone", hints=frozenset({"phone", "number"}))
PLATE = ValueShape("characters", 6, 6, frozenset({"plate"}))
NAME = ValueShape("characters", 2, 64, frozenset({"name"}))
RANGE = ValueShape("digits", 4, 6)
SIZE = ValueShape("choice", hints=frozenset({"size"}), choices=("small", "extra large"))


@pytest.mark.parametrize(
    ("shape", "words", "expected"),
    [
        (CODE, "It's four eight two", "open"),
        (CODE, "My order number is 4 8 2 7", "open"),
        (CODE, "four eight two seven one", "whole"),
        (CODE, "It is 48271.", "whole"),
        (CODE, "forty-eight double two one", "whole"),
        (CODE, "I want", ""),
        (CODE, "I have two", ""),
        (MAIL, "It's J, O, H, N,", "open"),
        (MAIL, "It's J, O, H, N, at", "open"),
        (MAIL, "It's J, O, H, N, at example", "open"),
        (MAIL, "It's J, O, H, N, at example dot", "open"),
        (MAIL, "It's J, O, H, N, at example dot com.", "whole"),
        (MAIL, "john@example.com", "whole"),
        (MAIL, "john at example.com", "whole"),
        (PHONE, "It's five five five", "open"),
        (PHONE, "555 123 4567", "growing"),
        (PLATE, "B M W", "open"),
        (PLATE, "B, M, W, one two three.", "whole"),
        (NAME, "S, M, I,", "growing"),
        (NAME, "My name is Smith", ""),
        (RANGE, "four eight", "open"),
        (RANGE, "four eight two seven", "growing"),
        (RANGE, "four eight two seven one three", "whole"),
        (SIZE, "Extra large, please.", ""),
        (SIZE, "A small", "whole"),
        (SIZE, "Extra large.", "whole"),
    ],
)
def test_a_value_is_open_until_it_is_whole(shape: ValueShape, words: str, expected: str) -> None:
    assert progress(words, (shape,), language("en")) == expected


@pytest.mark.parametrize(
    ("code", "words", "expected"),
    [
        ("de", "vier acht zwei", "open"),
        ("de", "vier acht zwei sieben eins", "whole"),
        ("es", "cuatro ocho dos siete uno", "whole"),
    ],
)
def test_digits_are_counted_in_the_callers_language(code: str, words: str, expected: str) -> None:
    assert progress(words, (CODE,), language(code)) == expected


def test_the_agents_question_says_which_value_is_meant() -> None:
    assert pending((CODE, MAIL, SIZE), "What is your order number?") == (CODE,)
    assert pending((CODE, MAIL, SIZE), "What is your email address, please?") == (MAIL,)


def test_without_a_question_only_what_is_dictated_tells() -> None:
    assert pending((CODE, MAIL, SIZE), "How can I help you?") == (CODE,)
    assert not progress("I live at home", pending((MAIL, SIZE), "How can I help you?"), language("en"))


def test_what_may_be_one_of_several_values_is_open_while_one_of_them_is() -> None:
    assert progress("four eight two seven one", (CODE, ValueShape("digits", 8, 8)), language("en")) == "open"


def test_nothing_tells_how_much_of_a_number_has_been_said() -> None:
    people = ValueShape("number", hints=frozenset({"people"}))
    assert pending((people, CODE), "For how many people?") == (CODE,)
