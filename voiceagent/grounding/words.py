"""Text as words that can be compared: lower case, no punctuation, and every number in digits, however it was said or written
("twenty-five", "25", "25th"); and times of day in words ("half past nine", "7 p.m.", "seven tonight"). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile

from voiceagent.grounding.language import GroundingWords, Half

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


OF_DAY, OF_HALF, OF_HOUR = 24, 12, 60


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as it was said."""

    hour: int
    """1 to 12."""
    minute: int
    half: Half
    is_plain: bool = True
    """False if the words need not mean a time."""

    def same_hand(self, other: Clock) -> bool:
        """True if both show the same on a clock's face."""
        return (self.hour, self.minute) == (other.hour, other.minute)

    def written(self, language: GroundingWords) -> str:
        """The time in the form that a tool is given."""
        hour = f"{self.hour}:{self.minute:02d}" if self.minute else str(self.hour)
        return language.written_time[self.half].format(hour=hour)


def clocks(words: Sequence[Word], language: GroundingWords) -> list[Clock]:
    """All times that a text's words may mean, with the half of the day if they say it."""
    parts = {language.parts_of_day[word.text] for word in words if word.text in language.parts_of_day}
    part = parts.pop() if len(parts) == 1 else ""
    found: list[Clock] = []
    at = 0
    while at < len(words):
        clock, length = _at(words, at, language)
        if clock is not None:
            found.append(clock if clock.half else replace(clock, half=part))
        at += max(length, 1)
    return found


def one_clock(text: str, language: GroundingWords) -> Clock | None:
    """The time if the text is a time and nothing else; None if it is no time, or just a number."""
    words = words_of(text, language)
    clock, length = _at(words, 0, language) if words else (None, 0)
    return clock if clock is not None and length == len(words) and clock.is_plain else None


def _at(words: Sequence[Word], at: int, language: GroundingWords) -> tuple[Clock | None, int]:
    """The time that begins there, and how many words it takes."""
    text = words[at].text
    if text in language.times:
        return Clock(*language.times[text]), 1
    for phrase, minutes in _past(language).get(text, ()):
        size = len(phrase)
        if phrase == [word.text for word in words[at : at + size]] and (hour := _hour(words, at + size)) is not None:
            return _with_half(words, at, size + 1, hour, minutes, language)
    number = words[at].number
    if ":" in text:
        hour, minute = map(int, text.split(":"))
        return _with_half(words, at, 1, hour, minute, language)
    if number is None:
        return None, 1
    sign = language.minutes_past.get(_text(words, at + 1), 0)
    if sign and 0 < number < OF_HOUR and (hour := _hour(words, at + 2)) is not None:
        return _vague(*_with_half(words, at, 3, hour, sign * number, language))  # "from two to four"
    if _text(words, at + 1) in language.full_hour:
        return _with_half(words, at, 2, number, 0, language)
    after = words[at + 1].number if at + 1 < len(words) else None
    if number < OF_DAY and after is not None and 10 <= after < OF_HOUR:
        return _with_half(words, at, 2, number, after, language)
    last = words[at + 2].number if at + 2 < len(words) else None
    if 0 < number < OF_DAY and after == 0 and last is not None and last < 10:  # "seven oh five"
        return _with_half(words, at, 3, number, last, language)
    if number >= 100 and (minute := number % 100) and minute < OF_HOUR and number // 100 <= OF_HALF:  # "at 730"
        return _vague(*_with_half(words, at, 1, number // 100, minute, language))
    clock, length = _with_half(words, at, 1, number, 0, language)
    return (clock, length) if length > 1 else _vague(clock, length)


@cache
def _past(language: GroundingWords) -> dict[str, list[tuple[list[str], int]]]:
    """The phrases before an hour and their minutes, by their first words."""
    found: dict[str, list[tuple[list[str], int]]] = {}
    for phrase, minutes in language.past.items():
        words = phrase.split()
        found.setdefault(words[0], []).append((words, minutes))
    return found


def _vague(clock: Clock | None, length: int) -> tuple[Clock | None, int]:
    """A time that may also be something else."""
    return clock and replace(clock, is_plain=clock.half != "" and clock.minute != 0), length


def _text(words: Sequence[Word], at: int) -> str:
    return words[at].text if at < len(words) else ""


def _hour(words: Sequence[Word], at: int) -> int | None:
    number = words[at].number if at < len(words) else None
    return number if number is not None and number <= OF_DAY else None


def _with_half(
    words: Sequence[Word], at: int, length: int, hour: int, minute: int, language: GroundingWords
) -> tuple[Clock | None, int]:
    """The time with the half of the day that follows at once; None if the numbers are no time."""
    if not -OF_HOUR < minute < OF_HOUR or hour > OF_DAY:
        return None, length
    half: Half = language.halves.get(_text(words, at + length), "")
    total = hour * OF_HOUR + minute
    hour, minute = divmod(total, OF_HOUR)
    if hour > OF_HALF and not half:
        half = "PM" if hour < OF_DAY else "AM"
    return Clock((hour - 1) % OF_HALF + 1, minute, half), length + bool(language.halves.get(_text(words, at + length)))
