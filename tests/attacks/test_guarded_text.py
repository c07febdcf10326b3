"""The longest texts that a caller may type, made to be dear to check: the guard hits what it hit, and does not hold the event
loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.figures import hold, within
from tests.attacks.loop_time import LIMIT_MS, held_ms
from voiceagent.guard.checks import Checks, admit
from voiceagent.guard.numbers import PhoneNumbers, candidates
from voiceagent.guard.settings import GuardRules
from voiceagent.realtime.client_events import MAX_TEXT_CHARACTERS

NUMBER = "+1 650 253 0000"
DEAR = {
    "pairs of digits": "12 34 56 78 90 ",
    "digits": "1",
    "groups of three": "123-456-",
    "sevens": "9999999 a ",
    "number words": "one two three four five six seven eight nine zero and ",
    "plus in words": "plus one two three four five six seven a ",
    "slashes": "123/4567890/",
    "ones": "+1 ",
    "freephone": "1800 555 000 ; ",
    "parentheses": "(123) 456 ",
    "twenty blocks": "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1 ext 5, ",
    "extensions": "12345678 ext 1234567 ",
    "words": "a.",
    "the beginning of a phrase": "never ever ",
    "almost a key": "aB3/",
}
ALL = GuardRules(secrets=True, cards=True, phones=True, phrases=("never say",), topics={"berlin": r"\bBerlin\b"})


@pytest.mark.parametrize("text", DEAR)
async def test_no_typed_message_holds_the_loop_in_the_guard(text: str) -> None:
    checks = Checks(ALL, "No.", ".")
    longest = (DEAR[text] * MAX_TEXT_CHARACTERS)[:MAX_TEXT_CHARACTERS]
    held = await held_ms(admit, checks, longest)
    hold(within("4,000 typed characters in the guard: event loop held", held, LIMIT_MS, "ms"))


@pytest.mark.parametrize("text", DEAR)
async def test_a_number_at_the_end_of_the_longest_message_is_found(text: str) -> None:
    checks = Checks(GuardRules(phones=True), "No.", ".")
    filling = (DEAR[text] * MAX_TEXT_CHARACTERS)[: MAX_TEXT_CHARACTERS - 40]
    admitted = await admit(checks, f"{filling} call {NUMBER}")
    assert admitted.verdict.rule == "phones"


PIECES = st.sampled_from(
    [
        NUMBER,
        "650 253 0000",
        "030 123456",
        "110",
        "4111",
        "/",
        "-",
        " ",
        "(",
        ")",
        "+",
        "x",
        " ext 5",
        ", ",
        ".",
        "a ",
        "12",
        "2026/11/21",
        "7" * 25,
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(["US", "DE", "GB"]))
def test_a_candidate_at_a_time_finds_what_the_library_finds(text: str, region: str) -> None:
    from phonenumbers import PhoneNumberMatcher

    assert any(candidates(text, region)) == any(PhoneNumberMatcher(text, region))


@pytest.mark.parametrize(
    ("text", "is_hit"),
    [
        ("plus one six five zero two five three zero zero zero zero", True),
        ("surplus  six five zero two five three zero zero zero zero", True),
        ("Plus   4 4 two zero seven nine four six zero nine five eight", True),
        ("surplus 4 4 two zero seven nine four six zero nine five eight", False),
    ],
)
def test_a_plus_that_is_said_is_a_word(text: str, is_hit: bool) -> None:
    assert PhoneNumbers("US").find(text, last=True).blocked == is_hit


async def test_the_agents_own_digits_do_not_hold_the_loop() -> None:
    checks = Checks(ALL, "No.", ".")
    for text in DEAR.values():
        held = await held_ms(checks.output, (text * 400)[:400], (text * 2000)[:2000], last=False)
        hold(within("the agent's own text in the guard: event loop held", held, LIMIT_MS, "ms"))
