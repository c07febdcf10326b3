"""Times of day in words ("half past nine", "7 p.m.", "seven tonight"). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from voiceagent.grounding.language import GroundingWords, Half
from voiceagent.grounding.words import Word, words_of

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
