"""Cards: their digits are taken out of the caller's words before anybody reads them."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.values.card_kind import HiddenCard, hide_card, hide_digits
from voiceagent.values.card_numbers import is_card
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.kinds import kind

CARD = "4242424242424242"
WHOLE = "card ending 4242"


@pytest.mark.parametrize(
    ("said", "so_far", "hidden"),
    [
        ("It is 4242 4242 4242 4242.", "", HiddenCard(f"[{WHOLE}]", WHOLE, CARD)),
        ("four two four two, 4242", "", HiddenCard("[part 3 of a card]", "part 3 of a card", "42424242")),
        ("4242 4242", "42424242", HiddenCard(f"[{WHOLE}]", WHOLE, CARD)),
        ("4242 4242 4242 4243", "", HiddenCard("[no card]")),
        ("No, 4243 at the end", CARD, HiddenCard("[no card]")),
        ("Is that safe?", "", HiddenCard("Is that safe?")),
        ("378282246310005", "", HiddenCard("[card ending 0005]", "card ending 0005", "378282246310005")),
        ("Pay with 4242-4242-4242-4242 now", None, HiddenCard(f"Pay with [{WHOLE}] now", WHOLE, CARD)),
        ("My number is 030 1234567", None, HiddenCard("My number is 030 1234567")),
        (" ".join(["four two"] * 8), None, HiddenCard(f"[{WHOLE}]", WHOLE, CARD)),
    ],
)
def test_digits_are_hidden(said: str, so_far: str | None, hidden: HiddenCard) -> None:
    assert hide_card(said, language("en"), 3, so_far) == hidden


def test_words_that_may_change_have_no_digits_while_a_card_is_asked_for() -> None:
    assert hide_digits("It is four two 42 42", language("en"), asked=True) == "It is • • • •"
    assert hide_digits("For 2 at 4242424242424242", language("en"), asked=False) == "For 2 at •"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (f"[{WHOLE}]", HeardValue(WHOLE, about_it=True)),
        ("[part 3 of a card]", HeardValue(partial="part 3 of a card", about_it=True)),
        ("[no card]", UNCLEAR),
        (CARD, ELSEWHERE),
    ],
)
def test_the_kind_hears_marks_alone(said: str, heard: HeardValue) -> None:
    assert kind("card").hear(said, "", Frame("en")) == heard
    assert kind("card").confirm(WHOLE, Frame("de")) == "die Karte mit den letzten Ziffern 4 2 4 2"


def test_a_check_digit_tells_a_card() -> None:
    assert is_card(CARD)
    assert not is_card("4242424242424241")
    assert not is_card("42424242")
