"""Days: `date` and `date_of_birth`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from typing_extensions import override

from voiceagent.values.dictation import Dictation, Phrase, phrase
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import contrast, opened
from voiceagent.values.spoken import (
    Token,
    cardinal,
    compound,
    longest,
    number_table,
    ordinal_table,
    proposes,
    questions,
    starts,
    tokens_of,
)

CENTURY = 100
WEEK = 7
SOON = 2
MOST_DAYS = 31
"""Within so many days, "next" may mean the one after."""
DAY_FIRST_NOT = frozenset({"US", "PH", "CA"})
"""Regions that write the month first."""
OLDEST_YEAR, LEAP_YEAR = 1900, 2000
_FIGURES = re.compile(r"(?<![\d.])(\d{1,2})\s*([./-])\s*(\d{1,2})(?:\s*\2\s*(\d{4}|\d{2}))?(?!\d)")
_KEYED = re.compile(r"\b([0-3]\d)([0-3]\d)((?:19|20)\d\d)\b")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")


@dataclass(frozen=True, slots=True)
class Day:
    """The parts of a day that were said."""

    day: int = 0
    month: int = 0
    year: int = 0
    weekday: int = -1
    exact: date | None = None
    """The day itself, counted from today."""
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class DateKind:
    """A day that is not over: today or later, unless `past: true`. Options `min` and `max`: ISO dates."""

    name: str = "date"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The day that was said last; what it lacks is that of the one being corrected, or of the next such day."""
        if questions(said, frame.language) and not proposes(said, frame.language):
            return ELSEWHERE
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        before = "" if speech.restarts else so_far
        tokens = speech.tokens
        if before and (pair := contrast(tokens, own)):
            tokens = pair[0]
        for part in _parts(tokens, frame):
            found = _figures(" ".join(one.text for one in part) if part is not tokens else said, frame) or _said(part, frame)
            if found is None and before:
                found = _one_number(_number(part, frame), frame)
            if found is not None:
                return self._heard(found, before, frame)
        return HeardValue(about_it=speech.restarts)

    def _heard(self, found: Day, before: str, frame: Frame) -> HeardValue:
        value, doubtful = self.resolved(found, before, frame)
        if value is None and found.day and found.month and not _day(found.year or LEAP_YEAR, found.month, found.day):
            return UNCLEAR
        if value is None:
            return HeardValue(partial=_partial(found, before), about_it=True)
        if not self.allowed(value, frame):
            return ELSEWHERE if found.exact is not None else UNCLEAR
        return HeardValue(value.isoformat(), about_it=True, doubtful=doubtful or found.doubtful)

    def allowed(self, value: date, frame: Frame) -> bool:
        """True if the day may be the value."""
        least = frame.text("min", "" if frame.options.get("past") else frame.today.isoformat())
        return least <= value.isoformat() <= frame.text("max", "9999-12-31")

    def resolved(self, found: Day, before: str, frame: Frame) -> tuple[date | None, bool]:
        """The day that is meant, and whether it may be another."""
        today = frame.today
        if found.exact is not None:
            return found.exact, False
        if found.weekday >= 0 and not found.day:
            ahead = (found.weekday - today.weekday()) % WEEK
            return today + timedelta(days=ahead or WEEK), not ahead
        old = _iso(before)
        month, day = found.month or (old.month if old else 0), found.day or (old.day if old else 0)
        if found.year or (old and found.month and not found.day):
            value = _day(found.year or (old.year if old else today.year), month, day)
            return value, False
        if not day:
            return None, False
        if not month:
            start = today.replace(day=1)
            for _ in range(4):
                value = _day(start.year, start.month, day)
                if value and value >= today:
                    return value, found.weekday < 0
                start = (start + timedelta(days=32)).replace(day=1)
            return None, False
        near = [value for year in (today.year, today.year + 1, today.year + 2) if (value := _day(year, month, day))]
        value = next((one for one in near if one >= today), None)
        return value, value is not None and 0 <= found.weekday != value.weekday()

    def confirm(self, value: str, frame: Frame) -> str:
        """The weekday, the day and the month; the year if it is another one."""
        own, day = dictation(frame.language), date.fromisoformat(value)
        said = own.dates.format(weekday=own.said_weekday(day.weekday()), month=own.said_month(day.month), day=day.day)
        far = frame.today != date.min and not 0 <= (day - frame.today).days < 300
        return own.with_year.format(date=said, year=day.year) if far or frame.today == date.min else said

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """ISO 8601."""
        return {"type": "string", "format": "date"}


@dataclass(frozen=True, slots=True)
class DateOfBirth(DateKind):
    """A day of birth, with its year."""

    name: str = "date_of_birth"

    @override
    def allowed(self, value: date, frame: Frame) -> bool:
        return value.year >= OLDEST_YEAR and (frame.today == date.min or value <= frame.today)

    @override
    def resolved(self, found: Day, before: str, frame: Frame) -> tuple[date | None, bool]:
        old = _iso(before)
        started = re.fullmatch(r"--(\d\d)-(\d\d)", before)
        month = found.month or (old.month if old else int(started[1]) if started else 0)
        day = found.day or (old.day if old else int(started[2]) if started else 0)
        year = found.year or (old.year if old else 0)
        if not (day and month and year) or found.exact is not None:
            return None, False
        return _day(year, month, day), False

    @override
    def confirm(self, value: str, frame: Frame) -> str:
        own, day = dictation(frame.language), date.fromisoformat(value)
        return own.births.format(month=own.said_month(day.month), day=day.day, year=day.year)


def _parts(tokens: Sequence[Token], frame: Frame) -> Iterator[Sequence[Token]]:
    """The words behind each repair, the last first, then all words."""
    own = dictation(frame.language)
    for at in range(len(tokens) - 1, 0, -1):
        if tokens[at].broken and (end := starts(tokens, at, own.repair)) and end < len(tokens):
            yield tokens[end:]
    yield tokens


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _one_number(number: int, frame: Frame) -> Day | None:
    """A day or a year that is put into what was said before."""
    if number > CENTURY:
        return Day(year=number)
    return Day(day=number) if 1 <= number <= MOST_DAYS else Day(year=_year(number, frame)) if number else None


def _partial(found: Day, before: str) -> str:
    return f"--{found.month:02}-{found.day:02}" if found.month and found.day else before if before.startswith("--") else ""


def _figures(said: str, frame: Frame) -> Day | None:
    """A day in figures."""
    if match := _ISO.search(said):
        return Day(int(match[3]), int(match[2]), int(match[1]))
    if keyed := _KEYED.search(said):
        first, second = int(keyed[1]), int(keyed[2])
        day, month = (second, first) if second > 12 >= first else (first, second)
        return Day(day, month, int(keyed[3]), doubtful=day <= 12 and day != month)
    match = next(
        (
            one
            for one in _FIGURES.finditer(said)
            if one[2] != "." or one[4] or one.end() == len(said.rstrip()) or said[one.end()] in ". "
        ),
        None,
    )
    if match is None:
        return None
    one, two = int(match[1]), int(match[3])
    region = frame.region or frame.text("region") or dictation(frame.language).region
    month_first = region.upper() in DAY_FIRST_NOT and match[2] != "."
    day, month = (two, one) if month_first else (one, two)
    if month > 12 >= day:
        day, month = month, day
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return None
    is_set = bool(frame.region or frame.text("region"))
    doubtful = frame.language == "en" and not is_set and day <= 12 and day != month
    return Day(day, month, _year(int(match[4]), frame) if match[4] else 0, doubtful=doubtful)


def _year(value: int, frame: Frame) -> int:
    """A year of two digits is the last such one, or one of the next twenty."""
    if value >= CENTURY:
        return value
    base = frame.today.year if frame.today != date.min else 2026
    year = base - base % CENTURY + value
    return year - CENTURY if year > base + 1 else year


@cache
def _names(code: str, which: str) -> Mapping[Phrase, int]:
    """The months or weekdays by their forms."""
    entries = dictation(code).months if which == "months" else dictation(code).weekdays
    return {phrase(form): index for index, forms in enumerate(entries) for form in forms.split("/")}


def _said(tokens: Sequence[Token], frame: Frame) -> Day | None:
    """A day in words."""
    code = frame.language
    own, today = dictation(code), frame.today
    months, weekdays = _names(code, "months"), _names(code, "weekdays")
    weekday = -1
    for at in range(len(tokens)):
        if found := longest(tokens, at, months):
            day = _before(tokens, at, code) or _behind(tokens, found[1], code)
            if day:
                year = _year_behind(tokens, max(found[1], day[1]), frame)
                return Day(day[0], found[0] + 1, year, weekday)
            year = _year_behind(tokens, found[1], frame)
            rest = [one for one in tokens if one.word and one.word not in own.beside]
            if len(rest) <= 3 + bool(year):
                return Day(month=found[0] + 1, year=year)
        if (named := longest(tokens, at, weekdays)) and weekday < 0:
            weekday, weekday_end = named[0], named[1]
            ordinal = _ordinal(tokens, weekday_end, code) or _behind_article(tokens, weekday_end, code)
            if ordinal is None and not _month_ahead(tokens, weekday_end, months):
                return _weekday(tokens, at, weekday_end, weekday, frame)
            if ordinal is not None and not _month_ahead(tokens, weekday_end, months):
                return Day(ordinal[0], weekday=weekday)
    if counted := _counted(tokens, frame):
        return Day(exact=counted)
    for at in range(len(tokens)):
        if found := longest(tokens, at, own.days):
            return Day(exact=today + timedelta(days=found[0]))
        if starts(tokens, at, own.next_week) and today != date.min:
            return Day(exact=today + timedelta(days=WEEK), doubtful=True)
    if own.dotted:  # "am fünften Zwölften"
        for at in range(len(tokens)):
            day = _ordinal(tokens, at, code)
            month = _ordinal(tokens, day[1], code) if day else None
            if day and month and month[0] <= len(months):
                return Day(day[0], month[0], _year_behind(tokens, month[1], frame))
    if numbered := _numbered(tokens, frame):
        return numbered
    numbers = [found for at in range(len(tokens)) if (found := _ordinal(tokens, at, code))]
    rest = [one for one in tokens if one.word and one.word not in own.beside]
    if numbers and len(rest) <= 3:
        return Day(numbers[-1][0])
    return None


def _numbered(tokens: Sequence[Token], frame: Frame) -> Day | None:
    """A day and a month in numbers, with the year or a word between them: "eight nine seventy-seven", "el cinco del diez"."""
    own, code = dictation(frame.language), frame.language
    for at in range(len(tokens)):
        if (first := _small(tokens, at, code)) is None or (second := _small(tokens, _over(tokens, first[1], own), code)) is None:
            continue
        year = _year_behind(tokens, second[1], frame)
        linked = any(one.word in own.of for one in tokens[first[1] : second[1]]) and code != "en"
        if not year and not linked:
            continue
        region = (frame.region or frame.text("region") or own.region).upper()
        day, month = (second[0], first[0]) if region in DAY_FIRST_NOT else (first[0], second[0])
        if month > 12 >= day:
            day, month = month, day
        if month <= 12:
            return Day(day, month, year, doubtful=not linked and day <= 12 and day != month)
    return None


def _over(tokens: Sequence[Token], at: int, own: Dictation) -> int:
    """The next word that is none between day, month and year."""
    while at < len(tokens) and (not tokens[at].word or tokens[at].word in own.of | own.articles):
        at += 1
    return at


def _small(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """A number in words that is a day or a month."""
    found = longest(tokens, at, number_table(code)) or (_digits(tokens, at) if at < len(tokens) else None)
    if found and not found[0] and (digit := longest(tokens, found[1], number_table(code))) and digit[0] < 10:  # "oh five"
        found = digit
    return found if found and 1 <= found[0] <= MOST_DAYS else None


def _weekday(tokens: Sequence[Token], at: int, end: int, weekday: int, frame: Frame) -> Day:
    """A weekday: the coming one, or that of the week after."""
    own, today = dictation(frame.language), frame.today
    ahead = (weekday - today.weekday()) % WEEK or WEEK
    near = range(max(0, at - 3), min(len(tokens), end + 2))
    is_next = any(starts(tokens, start, own.next) for start in near if start < at) or bool(starts(tokens, end, own.next_behind))
    after = any(starts(tokens, start, own.after_next) for start in near)
    week = any(longest(tokens, start, dict.fromkeys(own.next_week, 1)) for start in range(len(tokens)))
    if week:
        monday = today + timedelta(days=WEEK - today.weekday())
        return Day(exact=monday + timedelta(days=weekday))
    if after:
        return Day(exact=today + timedelta(days=ahead + WEEK))
    if weeks := _weeks_beside(tokens, at, end, own, frame.language):
        return Day(exact=today + timedelta(days=ahead + weeks))
    if is_next:
        return Day(exact=today + timedelta(days=ahead), doubtful=ahead <= SOON)
    return Day(weekday=weekday)


def _weeks_beside(tokens: Sequence[Token], at: int, end: int, own: Dictation, code: str) -> int:
    """The days of "a week from Monday" or "Montag in einer Woche" behind the coming Monday; 0 if there are none."""
    for start in range(max(0, at - 4), len(tokens)):
        number = cardinal(tokens, start, code) or (1, start)
        unit = longest(tokens, number[1], own.units) if number[1] < len(tokens) else None
        if not unit or unit[0] % WEEK:
            continue
        link = tokens[unit[1] : at]
        is_before = bool(link) and link[0].word in own.week_from and all((one.word,) in own.next for one in link[1:])
        is_behind = start > end and any(starts(tokens, index, own.within) for index in range(end, start))
        if is_before or is_behind:
            return number[0] * unit[0]
    return 0


def _month_ahead(tokens: Sequence[Token], at: int, months: Mapping[Phrase, int]) -> bool:
    return any(longest(tokens, index, months) for index in range(at, min(len(tokens), at + 8)))


def _counted(tokens: Sequence[Token], frame: Frame) -> date | None:
    """Days, weeks or months from today."""
    own, code = dictation(frame.language), frame.language
    for at in range(len(tokens)):
        number = cardinal(tokens, at, code) or ((1, at) if longest(tokens, at, own.units) else None)
        if number is None:
            continue
        around = any(starts(tokens, index, own.within) for index in range(max(0, at - 2), min(len(tokens), number[1] + 3)))
        unit = longest(tokens, number[1], own.units)
        if around and unit and 0 < number[0] * unit[0] <= 3660:
            return frame.today + timedelta(days=number[0] * unit[0])
        if around and number[1] < len(tokens) and tokens[number[1]].word in own.months_unit and number[0] <= 24:
            month = frame.today.month - 1 + number[0]
            return _day(frame.today.year + month // 12, month % 12 + 1, min(frame.today.day, 28))
    return None


def _ordinal(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """A day of the month as an ordinal: "third", "3rd", "3."; its value and end."""
    while at < len(tokens) and (not tokens[at].word or tokens[at].word in dictation(code).articles):
        at += 1
    if at >= len(tokens):
        return None
    if found := longest(tokens, at, ordinal_table(code)):
        return found if found[0] <= 31 else None
    token = tokens[at]
    if token.word.isdecimal() and len(token.word) <= 2 and 1 <= int(token.word) <= 31 and at + 1 < len(tokens):
        after = tokens[at + 1]
        if after.glued and (after.word in dictation(code).ordinal_suffixes or (after.text == "." and dictation(code).dotted)):
            return int(token.word), at + 2
    return None


def _behind_article(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """A day in digits behind an article: "Tuesday the 8"."""
    if at + 1 >= len(tokens) or tokens[at].word not in dictation(code).articles:
        return None
    found = _digits(tokens, at + 1)
    return found if found and 1 <= found[0] <= MOST_DAYS else None


def _number(tokens: Sequence[Token], frame: Frame) -> int:
    """The only number in some words."""
    for at in range(len(tokens)):
        if tokens[at].word and (found := _ordinal(tokens, at, frame.language)):
            return found[0]
        if year := _year_behind(tokens, at, frame, least=1):
            return year
        if found := cardinal(tokens, at, frame.language):
            return found[0]
    return 0


def _before(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """The day before a month: "the third of May", "3 mai"."""
    own = dictation(code)
    end = at
    while end > 0 and (not tokens[end - 1].word or tokens[end - 1].word in own.of):
        end -= 1
    for start in range(max(0, end - 5), end):
        for found in (
            longest(tokens, start, ordinal_table(code)),
            longest(tokens, start, number_table(code)),
            _digits(tokens, start),
        ):
            if (
                found
                and 1 <= found[0] <= 31
                and all(not one.word or one.word in own.ordinal_suffixes for one in tokens[found[1] : end])
            ):
                return found[0], at
    return None


def _digits(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    word = tokens[at].word
    return (int(word), at + 1) if word.isdecimal() and len(word) <= 2 else None


def _behind(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """The day behind a month: "May the third", "May 3rd"."""
    own = dictation(code)
    while at < len(tokens) and (not tokens[at].word or tokens[at].word in own.articles):
        at += 1
    if at >= len(tokens):
        return None
    for found in (longest(tokens, at, ordinal_table(code)), longest(tokens, at, number_table(code)), _digits(tokens, at)):
        if found and 1 <= found[0] <= 31:
            end = found[1]
            return found[0], end + (end < len(tokens) and tokens[end].word in own.ordinal_suffixes)
    return None


def _year_behind(tokens: Sequence[Token], at: int, frame: Frame, least: int = 0) -> int:
    """The year that follows: "1985", "nineteen eighty five", "85"; 0 if none does."""
    own, code = dictation(frame.language), frame.language
    while at < len(tokens) and (not tokens[at].word or tokens[at].word in own.of | own.articles):
        at += 1
    if at >= len(tokens):
        return 0
    word = tokens[at].word
    if word.isdecimal():
        if len(word) == 4:
            return int(word)
        if len(word) == 2 and not least:
            pair = tokens[at + 1].word if at + 1 < len(tokens) else ""
            return int(word + pair) if word in ("19", "20") and pair.isdecimal() and len(pair) == 2 else _year(int(word), frame)
        return 0
    if (whole := compound(word, code)) and whole > 1000:
        return whole
    table = number_table(code)
    if (first := longest(tokens, at, table)) and 10 <= first[0] <= 20:
        second = longest(tokens, first[1], table) if first[1] < len(tokens) else None
        if second and (10 <= second[0] < CENTURY or CENTURY <= second[0] < 2 * CENTURY):
            return first[0] * CENTURY + second[0] % CENTURY
        if second and second[0] == 0 and (third := longest(tokens, second[1], table)) and third[0] < 10:
            return first[0] * CENTURY + third[0]
    number = cardinal(tokens, at, code)
    if number and 1000 < number[0] < 2100:
        return number[0]
    return _year(number[0], frame) if number and 10 <= number[0] < CENTURY and not least else 0
