"""Digits in what people say, in seven languages."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.values.spoken_digits import digit_runs, spaced


@pytest.mark.parametrize(
    ("code", "said", "runs"),
    [
        ("en", "It's oh three oh, double five, forty-two.", ["0305542"]),
        ("en", "030 12 34 567", ["0301234567"]),
        ("en", "plus 49, I mean +49 171", ["49", "+49171"]),
        ("en", "zero three, uh, one four", ["0314"]),
        ("en", "zero three one, no, zero three two", ["032"]),
        ("en", "Call me at nine on 555 1234", ["9", "5551234"]),
        ("en", "twenty twenty-one", ["2021"]),
        ("de", "null drei null zweiundvierzig siebzehn", ["0304217"]),
        ("de", "null drei zwo, doppel fünf", ["03255"]),
        ("fr", "zéro six douze soixante-douze quatre-vingt-un quatre-vingt-quinze", ["0612728195"]),
        ("fr", "zéro un vingt et un", ["0121"]),
        ("es", "seis treinta y dos cuarenta", ["63240"]),
        ("it", "tre ventuno trentadue zero", ["321320"]),
        ("nl", "nul zes tweeënveertig", ["0642"]),
        ("pt", "nove vinte e um", ["921"]),
        ("en", "Are you open today?", []),
    ],
)
def test_digits_are_read_as_they_are_said(code: str, said: str, runs: list[str]) -> None:
    assert digit_runs(said, language(code)) == runs


@pytest.mark.parametrize(
    ("digits", "read"),
    [
        ("0301234567", "0 3 0, 1 2 3, 4 5 6 7"),
        ("+491712", "+ 4 9 1, 7 1 2"),
        ("12", "1 2"),
        ("1234", "1 2 3 4"),
        ("12345", "1 2 3, 4 5"),
    ],
)
def test_digits_are_read_back_one_by_one_in_groups(digits: str, read: str) -> None:
    assert spaced(digits) == read
