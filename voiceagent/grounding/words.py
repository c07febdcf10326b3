"""Text as words that can be compared: lower case, no punctuation, and every number in digits, however it was said or written
("twenty-five", "25", "25th"). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from voiceagent.grounding.language import GroundingWords

_WORD = re.compile(r"\d{1,2}:\d{1,2}(?!\d)|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*|[+*/×÷]|(?<![^\W\d_])-(?![^\W\d_])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ABBREVIATED = re.compile(r"\b([a-z])\.\s?([a-z])\b\.?")

SHORTEST_CODE = 3
"""From this many digits on, a number counts as a code, said in groups or one by one."""
TEN = 10


@dataclass(frozen=True, slots=True)
class Word:
    """A word, a number in digits, a time such as `7:30`, or a sign."""

    text: str
    number: int | None = None
    by_sound: bool = False
    """True for a digit that was written as a word that sounds like it."""


def words_of(text: str, language: GroundingWords) -> list[Word]:
    """The text's words, in order."""
    plain = _ABBREVIATED.sub(r"\1\2", _THOUSANDS.sub("", text.replace("’", "'").casefold()))
    return _with_numbers(_WORD.findall(plain), language)


def _with_numbers(raw: Sequence[str], language: GroundingWords) -> list[Word]:
    found: list[Word] = []
    at = 0
    while at < len(raw):
        begins = raw[at] in language.numbers or raw[at] in language.ordinals or raw[at] in language.multipliers
        number, length = _number_at(raw, at, language) if begins else (0, 0)
        if length:
            found.append(Word(str(number), number))
        elif raw[at].isdecimal():
            digits = "".join(str(int(digit)) for digit in raw[at])
            length = 2 if at + 1 < len(raw) and raw[at + 1] in language.ordinal_endings else 1
            found.append(Word(digits, int(digits) if len(digits) <= 15 else None))
        elif _is_digit_by_sound(raw, at, found, language):
            digit = language.digits_by_sound[raw[at]]
            found.append(Word(str(digit), digit, by_sound=True))
            length = 1
        else:
            found.append(Word(_bare(raw[at], language)))
            length = 1
        at += length
    return found


def _is_digit_by_sound(raw: Sequence[str], at: int, before: Sequence[Word], language: GroundingWords) -> bool:
    """True for a word that sounds like a digit and stands before one, in digits that follow the name of a code: the "for" of "my
    number is for 8271"."""
    if raw[at] not in language.digits_by_sound or at + 1 >= len(raw) or not _is_digits(raw[at + 1], language):
        return False
    named = next((word.text for word in reversed(before) if word.number is None and word.text not in language.copulas), "")
    dictated = takewhile(lambda word: _is_digits(word, language) or word in language.digits_by_sound, raw[at:])
    after = sum(len(word) if word.isdecimal() else 1 for word in dictated if _is_digits(word, language))
    told = takewhile(lambda word: word.number is not None, reversed(before))
    return named in language.code_names and after + sum(len(word.text) for word in told) >= SHORTEST_CODE


def _is_digits(word: str, language: GroundingWords) -> bool:
    return word.isdecimal() or 0 <= language.numbers.get(word, -1) < TEN


def _number_at(raw: Sequence[str], at: int, language: GroundingWords) -> tuple[int, int]:
    """A number in words that begins there, and how many words it takes; 0 if there is none."""
    value, length = _below_hundred(raw, at, language)
    if not length and raw[at] in language.multipliers:
        value = 1
    while value and at + length < len(raw) and raw[at + length] in language.multipliers:
        value *= language.multipliers[raw[at + length]]
        length += 1
        joined = at + length < len(raw) and raw[at + length] == language.joiner
        rest, more = _below_hundred(raw, at + length + joined, language)
        if more:
            value, length = value + rest, length + joined + more
    return value, length


def _below_hundred(raw: Sequence[str], at: int, language: GroundingWords) -> tuple[int, int]:
    if at >= len(raw):
        return 0, 0
    word, after = raw[at], raw[at + 1] if at + 1 < len(raw) else ""
    if word in language.tens and 0 < language.numbers.get(after, language.ordinals.get(after, 0)) < 10:
        return language.numbers[word] + language.numbers.get(after, language.ordinals.get(after, 0)), 2
    value = language.numbers.get(word, language.ordinals.get(word))
    return (0, 0) if value is None else (value, 1)


def _bare(word: str, language: GroundingWords) -> str:
    """The word without an ending that changes little: "haircuts", "Anna's"."""
    if word in language.full_hour or word in language.signs:
        return word
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
