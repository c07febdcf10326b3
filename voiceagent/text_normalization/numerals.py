"""Numbers in English words, by num2words (LGPL-2.1, used as it is). Pure."""

from __future__ import annotations

from num2words import num2words

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST_DIGITS = 15
"""The most digits of a number that is read as one."""


def cardinal(digits: str) -> str:
    """A written number, "1,250" or "3.14", in words; its fraction is read digit by digit, and so is a number that is too long."""
    whole, _, fraction = digits.replace(",", "").partition(".")
    if len(whole) > MOST_DIGITS:
        return " ".join(DIGITS[int(digit)] for digit in whole + fraction)
    words = str(num2words(int(whole or "0"))).replace(",", "")
    return f"{words} point {' '.join(DIGITS[int(digit)] for digit in fraction)}" if fraction else words


def ordinal(number: int) -> str:
    """As in a rank or a day: "twenty-first"."""
    return str(num2words(number, to="ordinal")).replace(",", "")


def year(number: int) -> str:
    """As in a date: "nineteen eighty-four", "two thousand and five"."""
    return str(num2words(number, to="year"))


def by_digits(digits: str) -> str:
    """Digit by digit: six or more in threes, with a breath between them."""
    size = 3 if len(digits) >= 6 else len(digits)
    groups = [digits[at : at + size] for at in range(0, len(digits), max(size, 1))]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return ", ".join(" ".join(DIGITS[int(digit)] for digit in group) for group in groups)
