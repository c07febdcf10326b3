"""Card and telephone numbers, as they are written and as they are said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.guard.numbers import CardNumbers, PhoneNumbers, runs
from voiceagent.guard.verdict import at_once
from voiceagent.values.card_numbers import is_card, luhn

VISA = "4111111111111111"
IN_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CARDS = CardNumbers()


def with_check_digit(digits: str) -> str:
    return next(digits + check for check in "0123456789" if luhn(digits + check))


@pytest.mark.parametrize(
    "text",
    [
        VISA,
        "The card is 4111 1111 1111 1111, valid till May.",
        "4111-1111-1111-1111",
        "four one one one, one one one one, one one one one, one one one one",
        "forty-one eleven, eleven eleven, double one double one, 1111",
        "It is 3782 822463 10005.",
        "It is ４１１１ ١١١١ 1111 1111.",
        "By 2026 the 5500 0000 0000 0004 expires.",
    ],
)
def test_a_card_number_is_found_however_it_is_said(text: str) -> None:
    assert CARDS.find(text, last=True).rule == "cards"


@pytest.mark.parametrize(
    "text",
    [
        "Your order 48271 arrives on 21 November 2026 at 3:30.",
        "4111 1111 1111 1112",
        "The tracking number is 1234 5678 9012 3456.",
        "One of the two, or three.",
        "No one knows what four plus four is: eight.",
        "",
    ],
)
def test_other_numbers_pass(text: str) -> None:
    assert not CARDS.find(text, last=True).blocked


@given(st.from_regex(r"4[0-9]{14}", fullmatch=True), st.lists(st.sampled_from(["", " ", ", ", "-"]), min_size=16, max_size=16))
def test_any_visa_number_is_found_in_words_and_digits(body: str, gaps: list[str]) -> None:
    number = with_check_digit(body)
    spoken = " ".join(IN_WORDS[int(digit)] for digit in number)
    written = "".join(digit + gap for digit, gap in zip(number, gaps, strict=True))
    assert is_card(number)
    assert CARDS.find(f"It is {spoken}, thanks.", last=True).rule == "cards"
    assert CARDS.find(f"It is {number}, thanks.", last=True).rule == "cards"
    assert "".join(run.digits for run in at_once(runs(written))) == number


def test_a_number_that_may_go_on_is_held_and_nothing_before_it() -> None:
    verdict = CARDS.find("The number is 4111 1111, ", last=False)
    assert not verdict.blocked
    assert verdict.hold == len("4111 1111, ")
    assert CARDS.find("The number is 4111 1111, fo", last=False).hold == len("4111 1111, fo")
    assert CARDS.find("The number is 4111 1111, four people ", last=False).hold == 0
    assert CARDS.find("The number is 4111 1111, ", last=True).hold == 0


def test_a_short_number_is_not_waited_for() -> None:
    assert CARDS.find("It is 25 ", last=False).hold == 0


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("Call +1 650 253 0000 now.", "DE"),
        ("Call (650) 253-0000.", "US"),
        ("Call six five zero, two five three, zero zero zero zero.", "US"),
        ("Call plus one six five zero two five three double oh double oh", "DE"),
        ("Rufen Sie 030 1234567 an.", "DE"),
    ],
)
def test_a_telephone_number_is_found(text: str, region: str) -> None:
    assert PhoneNumbers(region).find(text, last=True).rule == "phones"


@pytest.mark.parametrize("text", ["Order 48271.", "On 2026-11-21 at 12:30.", "It costs 1,250,000 dollars."])
def test_what_is_no_telephone_number_passes(text: str) -> None:
    assert not PhoneNumbers("US").find(text, last=True).blocked


def test_a_telephone_number_before_one_that_may_go_on_is_found() -> None:
    assert PhoneNumbers("US").find("Call 650 253 0000 or ask for 4827", last=False).rule == "phones"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "vier eins eins eins, eins eins eins eins, elf elf elf elf, eins eins eins eins"),
        ("de", "einundvierzig elf elf elf elf elf elf elf"),
        ("es", "cuarenta y uno once once once once once once once"),
        ("fr", "quarante et un onze onze onze onze onze onze onze"),
        ("it", "quarantuno undici undici undici undici undici undici undici"),
        ("pt", "quarenta e um onze onze onze onze onze onze onze"),
        ("nl", "eenenveertig elf elf elf elf elf elf elf"),
        ("auto", "einundvierzig elf elf elf elf elf elf elf"),
        ("auto", "forty-one eleven eleven eleven eleven eleven eleven eleven"),
        ("pl", "4111 1111 1111 1111"),
    ],
)
def test_card_numbers_are_found_in_the_agents_language(code: str, text: str) -> None:
    assert CardNumbers(code).find(text, last=True).blocked
    assert not CardNumbers(code).find(" ".join(text.split()[:6] if code != "pl" else text.split()[:3]), last=True).blocked


def test_a_number_whose_last_word_may_go_on_is_held() -> None:
    assert CardNumbers("de").find("vier eins eins eins eins", last=False).hold
    assert CardNumbers("es").find("cuarenta y uno once cuarenta", last=False).hold
