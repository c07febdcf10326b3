"""Payment cards' numbers: their lengths and their check digit."""

from __future__ import annotations

import re

_CARD_LENGTHS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[68])"), (14,)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"6(?:011|4[4-9]|5|2)"), (16, 17, 18, 19)),
    (re.compile(r"5[06-9]|6[37]"), (16, 18, 19)),
)
"""The lengths of card numbers, by their first digits (ISO/IEC 7812 and the networks' own tables)."""


def luhn(digits: str) -> bool:
    """True if the check digit is right (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """True for a payment card's number."""
    return any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _CARD_LENGTHS) and luhn(digits)
