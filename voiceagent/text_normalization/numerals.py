"""Numbers in English words, by num2words (LGPL-2.1, used as it is), and how they are written. Pure."""

from __future__ import annotations

import functools
import itertools
import re

from num2words import num2words

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST_DIGITS = 15
"""The most digits of a number that is read as one."""
NUMBER = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:['’]\d{3})+(?:\.\d+)?"
    r"|\d{1,3}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?!\d|[.,]\d)"
)
"""1,250 or 3.14; as other countries write it: 1.234,56, 10.000.000, 1'250; as India does: 1,50,000."""
_EUROPEAN = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def plain(number: str) -> str:
    """A written number with a full stop before its fraction and no other sign."""
    if _EUROPEAN.fullmatch(number):
        number = number.replace(".", "").replace(",", ".")
    return number.replace(",", "").replace("'", "").replace("’", "")


@functools.lru_cache(maxsize=4096)
def cardinal(number: str) -> str:
    """A written number, "1,250" or "3.14", in words; its fraction is read digit by digit, and so is a number that is too long."""
    whole, _, fraction = plain(number).partition(".")
    if len(whole) > MOST_DIGITS:
        return " ".join(DIGITS[int(digit)] for digit in whole + fraction)
    words = str(num2words(int(whole or "0"))).replace(",", "")
    return f"{words} point {' '.join(DIGITS[int(digit)] for digit in fraction)}" if fraction else words


@functools.lru_cache(maxsize=1024)
def ordinal(number: int) -> str:
    """A number as a rank or a day: "twenty-first"."""
    return str(num2words(number, to="ordinal")).replace(",", "")


@functools.lru_cache(maxsize=1024)
def year(number: int) -> str:
    """A year as in a date: "nineteen eighty-four", "two thousand and five"."""
    return str(num2words(number, to="year"))


def by_digits(digits: str) -> str:
    """Digit by digit: six or more in threes, with a breath between them."""
    size = 3 if len(digits) >= 6 else len(digits)
    groups = [digits[at : at + size] for at in range(0, len(digits), max(size, 1))]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return ", ".join(" ".join(DIGITS[int(digit)] for digit in group) for group in groups)


def by_groups(text: str) -> str:
    """Digit by digit in the groups in which they are written."""
    return ", ".join(by_digits(group) for group in re.findall(r"\d+", text))


def by_pairs(digits: str) -> str:
    """Four digits as those of rooms, flights and houses are read: "twelve oh four", "sixteen hundred"."""
    first, second = digits[:2], digits[2:]
    if digits.startswith("0") or digits[1:3] == "00":
        return by_digits(digits) if digits.startswith("0") or second != "00" else cardinal(digits)
    if second == "00":
        return f"{cardinal(first)} hundred"
    return f"{cardinal(first)} {'oh ' if second.startswith('0') else ''}{cardinal(second)}"


def roman(text: str) -> int | None:
    """The value of a Roman numeral; None if it is none."""
    if not text or not _ROMAN.fullmatch(text):
        return None
    values = [_ROMAN_DIGITS[letter] for letter in text] + [0]
    return sum(-value if value < following else value for value, following in itertools.pairwise(values))
