"""Days and times: a date to come, a date of birth, a time of day. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from voiceagent.values.calendar_words import WORDS, CalendarWords, Phrases
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.spoken_digits import number_tokens

NOON, HALF, QUARTER, HOUR = 12, 30, 15, 60
LATEST_EARLY_HOUR = 6
"""Hours up to this one, without a word for the part of the day, are taken for the afternoon's."""
MOST_MONTHS = 10
"""A date further away is read back with its year."""
OLDEST_YEARS = 120
MONTH_FIRST = frozenset({"US", "PH"})
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})\s?[./-]\s?(\d{1,2})(?:\s?[./-]\s?(\d{4}|\d{2})\b|\.?(?!\d))")
_KEYED = re.compile(r"\b(\d{2})(\d{2})(\d{4})\b")
_CLOCK = re.compile(r"\b([01]?\d|2[0-4])\s?[:.h]\s?([0-5]\d)\b")
Tokens = Sequence[str | int]


def _words(frame: Frame) -> CalendarWords:
    return WORDS.get(frame.language, WORDS["en"])


def _find(tokens: Tokens, phrases: Phrases) -> int | None:
    """The place behind the first of the phrases that stands in the tokens."""
    for phrase in phrases:
        for start in range(len(tokens) - len(phrase) + 1):
            if tuple(tokens[start : start + len(phrase)]) == phrase:
                return start + len(phrase)
    return None


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _tokens(said: str, frame: Frame) -> list[str | int]:
    words = _words(frame)
    return number_tokens(said, frame.words, words.ordinals, words.endings)


class _Said:
    """A day, month and year, as far as they were said."""

    def __init__(self, said: str, frame: Frame) -> None:
        self.day = self.month = self.year = 0
        self.doubtful = False
        numeric = _ISO.search(said), _NUMERIC.search(said) or _KEYED.search(said)
        if numeric[0] is not None:
            self.year, self.month, self.day = (int(part) for part in numeric[0].groups())
        elif numeric[1] is not None:
            first, second, year = numeric[1].groups()
            self.day, self.month = int(first), int(second)
            if frame.region in MONTH_FIRST or self.month > NOON:
                self.day, self.month = self.month, self.day
            self.year = self._year(int(year), frame) if year else 0
            self.doubtful = frame.language == "en" and not frame.region and self.day <= NOON and self.day != self.month
        else:
            self._in_words(_tokens(said, frame), frame)

    def _in_words(self, tokens: Tokens, frame: Frame) -> None:
        months = _words(frame).months
        place = next((at for at, token in enumerate(tokens) if token in months), None)
        if place is None:
            return
        self.month = months.index(str(tokens[place])) + 1
        before = [(at, token) for at, token in enumerate(tokens[max(0, place - 3) : place], max(0, place - 3))]
        behind = list(enumerate(tokens[place + 1 :], place + 1))
        days = [(at, token) for at, token in (*reversed(before), *behind) if isinstance(token, int) and 1 <= token <= 31]
        if not days:
            return
        at, self.day = days[0]
        rest = [token for place_, token in behind if isinstance(token, int) and place_ > at]
        if rest:
            self.year = self._year(rest[0] * 100 + rest[1] if len(rest) > 1 and rest[0] in (19, 20) else rest[0], frame)

    @staticmethod
    def _year(said: int, frame: Frame) -> int:
        if said >= 100:
            return said
        century = frame.today.year // 100 * 100
        return century + said if said <= frame.today.year % 100 + 5 else century - 100 + said


class DateKind:
    """A date, in the future unless a year was said: `2026-12-04`."""

    name = "date"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        told = _Said(said, frame)
        if told.month:
            return self._of_month(told, frame)
        tokens, words = _tokens(said, frame), _words(frame)
        for days, phrases in ((0, words.today), (2, words.in_two_days)):
            if _find(tokens, phrases) is not None:
                return _value(frame.today + timedelta(days))
        weekday = next((token for token in tokens if token in words.weekdays), None)
        if weekday is not None:
            ahead = (words.weekdays.index(str(weekday)) - frame.today.weekday()) % 7
            return _value(frame.today + timedelta(ahead or 7), doubtful=ahead == 0)
        at = _find(tokens, words.mornings)
        if _find(tokens if at is None else tokens[: at - 1], words.tomorrow) is not None:
            return _value(frame.today + timedelta(1))
        days_said = [token for token in tokens if isinstance(token, int)]
        if len(days_said) == 1 and 1 <= days_said[0] <= 31 and so_far:
            return self._day_of_month(days_said[0], so_far)
        return ELSEWHERE

    def _of_month(self, told: _Said, frame: Frame) -> HeardValue:
        if not told.day:
            return UNCLEAR
        year = told.year or frame.today.year
        found = _made(year, told.month, told.day)
        if found is not None and not told.year and found < frame.today:
            found = _made(year + 1, told.month, told.day)
        return UNCLEAR if found is None else _value(found, doubtful=told.doubtful)

    @staticmethod
    def _day_of_month(day: int, so_far: str) -> HeardValue:
        """Another day than the one that was read back."""
        before = date.fromisoformat(so_far)
        found = _made(before.year, before.month, day)
        return UNCLEAR if found is None else _value(found)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        day = date.fromisoformat(value)
        text = written(day, frame)
        is_near = frame.today <= day <= frame.today + timedelta(MOST_MONTHS * 30)
        return text if is_near else f"{text} {day.year}"

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        words = _words(frame)
        return f"{words.weekdays[4].capitalize()}. 12 {words.months[2]}."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "format": "date"}


def _value(day: date, *, doubtful: bool = False) -> HeardValue:
    return HeardValue(day.isoformat(), about_it=True, doubtful=doubtful)


def written(day: date, frame: Frame) -> str:
    """A date as it is read back, without its year."""
    words = _words(frame)
    weekday, month = words.weekdays[day.weekday()], words.months[day.month - 1]
    if words.capitals:
        weekday, month = weekday.capitalize(), month.capitalize()
    return words.written.format(weekday=weekday, day=day.day, month=month)


class BirthKind:
    """A date of birth, with its year: `1980-12-24`."""

    name = "date_of_birth"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        told = _Said(said, frame)
        if not told.month:
            years = [token for token in _tokens(said, frame) if isinstance(token, int) and token >= 1900]
            if not so_far or len(years) != 1:
                return ELSEWHERE
            told.month, told.day, told.year = int(so_far[5:7]), int(so_far[8:10]), years[0]
        if not told.day:
            return UNCLEAR
        if not told.year:
            return HeardValue(partial=f"0000-{told.month:02}-{told.day:02}", about_it=True)
        found = _made(told.year, told.month, told.day)
        if found is None or not frame.today.year - OLDEST_YEARS <= found.year or found > frame.today:
            return UNCLEAR
        return _value(found, doubtful=told.doubtful)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        day = date.fromisoformat(value)
        words = _words(frame)
        month = words.months[day.month - 1].capitalize() if words.capitals else words.months[day.month - 1]
        text = words.written.format(weekday="", day=day.day, month=month)
        return f"{text.lstrip(', ')}{',' if frame.language == 'en' else ''} {day.year}"

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return f"12 {_words(frame).months[2]} 1985."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "format": "date"}


class TimeKind:
    """A time of day: `15:30`."""

    name = "time"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        words, tokens = _words(frame), _tokens(said, frame)
        clock = _CLOCK.search(said.casefold())
        minutes = int(clock[1]) * HOUR + int(clock[2]) if clock is not None else self._in_words(tokens, words)
        if minutes is None:
            return ELSEWHERE
        hour = minutes // HOUR
        early, late = _find(tokens, words.before_noon), _find(tokens, words.after_noon)
        doubtful = False
        if late is not None and hour < NOON:
            minutes += NOON * HOUR
        elif early is not None and hour == NOON:
            minutes -= NOON * HOUR
        elif early is None and late is None and hour <= LATEST_EARLY_HOUR and not said.strip().startswith("0"):
            minutes += NOON * HOUR
            doubtful = True
        minutes %= 24 * HOUR
        return HeardValue(f"{minutes // HOUR:02}:{minutes % HOUR:02}", about_it=True, doubtful=doubtful)

    @staticmethod
    def _in_words(tokens: Tokens, words: CalendarWords) -> int | None:
        for phrases, minutes in ((words.midnight, 0), (words.noon, NOON * HOUR)):
            if _find(tokens, phrases) is not None:
                return minutes
        before = (words.half_past, HALF), (words.half_to, -HALF), (words.quarter_past, QUARTER), (words.quarter_to, -QUARTER)
        for phrases, added in before:
            at = _find(tokens, phrases)
            if at is not None and at < len(tokens) and isinstance(hour := tokens[at], int) and hour <= 24:
                return (hour * HOUR + added) % (24 * HOUR)
        hours = [at for at, token in enumerate(tokens) if isinstance(token, int) and token <= 24]
        if not hours:
            return None
        hour = tokens[hours[0]]
        assert isinstance(hour, int)
        behind = tokens[hours[0] + 1 :]
        for phrases, added in ((words.and_half, HALF), (words.and_quarter, QUARTER), (words.less_quarter, -QUARTER)):
            if _find(behind, phrases) is not None:
                return (hour * HOUR + added) % (24 * HOUR)
        minute = next((token for token in behind[:2] if isinstance(token, int) and token < HOUR), 0)
        return hour * HOUR + minute

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        if frame.language != "en":
            return value
        hour, minute = int(value[:2]), value[3:]
        half = "AM" if hour < NOON else "PM"
        return f"{(hour - 1) % NOON + 1}{f':{minute}' if minute != '00' else ''} {half}"

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "9:30. 15:00."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
