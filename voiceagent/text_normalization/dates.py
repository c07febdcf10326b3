"""Dates, times of day and durations as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import before
from voiceagent.text_normalization.exactly import letters
from voiceagent.text_normalization.numerals import by_digits, cardinal, ordinal, year

_HALF = r"(?:[aApP](?:\.\s?[mM]\.|[mM]\b))"
_TO = r"\s?(?:[-–—]|to)\s?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?"
CLOCK = re.compile(rf"(?P<clock>{_CLOCK})(?:\s?(?P<half>{_HALF}))?")
HOUR = re.compile(rf"(?P<hour>\d{{1,2}})\s?(?P<half>{_HALF})")
SPAN = re.compile(
    rf"(?P<first>{_CLOCK}|\d{{1,2}})(?:\s?(?P<half>{_HALF}))?{_TO}(?P<last>{_CLOCK}|\d{{1,2}})(?:\s?(?P<last_half>{_HALF}))?(?![\d:])"
)
"""9:00-17:00, 9am–5pm, 9-11 am."""
DURATION = re.compile(
    r"(?:(?P<d>\d{1,3})\s?d\s?)?(?:(?P<h>\d{1,3})\s?h(?:rs?)?\.?\s?)(?:(?P<m>\d{1,2})(?:\s?m(?:ins?)?)?\b\s?)?(?:(?P<s>\d{1,2})\s?s(?:ecs?)?\b)?"
)
MINUTES = re.compile(r"(?P<m>\d{1,3})\s?m(?:ins?)?\s?(?P<s>\d{1,2})\s?s(?:ecs?)?\b")
RATIO = re.compile(r"(?P<first>\d{1,4}):(?P<second>\d{1,4})(?![:\d])")
ZONE = re.compile(r"(?P<zone>UTC|GMT)\s?(?P<sign>[+\-−–])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?(?!\d)")
_OCLOCK = "o'clock"
_UNITS = (("d", "day"), ("h", "hour"), ("m", "minute"), ("s", "second"))


def _half(half: str | None) -> str:
    return f" {letters(half[0] + 'm')}" if half else ""


def clock_words(text: str, half: str | None = None, *, exact: bool = True) -> str | None:
    """10:30:15 in words; `exact`: full minutes have their seconds too."""
    hour, minute, *seconds = text.split(":")
    if int(hour) > 24 or int(minute) > 59 or (seconds and float(seconds[0]) >= 60):
        return None
    said = _minutes(int(hour), int(minute), half)
    if seconds and (exact or float(seconds[0])):
        said += f" and {cardinal(seconds[0])} second{'' if float(seconds[0]) == 1 else 's'}"
    return said + _half(half)


def _minutes(hour: int, minute: int, half: str | None) -> str:
    if hour in (0, 24) and not half:
        return "midnight" if not minute else f"zero {'oh ' if minute < 10 else ''}{cardinal(str(minute))}"
    if minute:
        return f"{cardinal(str(hour))} {'oh ' if minute < 10 else ''}{cardinal(str(minute))}"
    return cardinal(str(hour)) if half else f"{cardinal(str(hour))} {'hundred' if hour > 12 else _OCLOCK}"


def clock(match: re.Match[str]) -> str | None:
    """15:45, 3:30 pm, 9:05, 10:30:15."""
    return clock_words(match["clock"], match["half"])


def hour(match: re.Match[str]) -> str | None:
    """9 am."""
    return f"{cardinal(match['hour'])}{_half(match['half'])}" if 1 <= int(match["hour"]) <= 12 else None


def span(match: re.Match[str]) -> str | None:
    """9:00-17:00, 9am–5pm, 9-11 am; numbers alone are no times."""
    timed = ":" in match["first"] + match["last"] or match["half"] or match["last_half"]
    first = _end(match["first"], match["half"])
    last = _end(match["last"], match["last_half"])
    return f"{first} to {last}" if timed and first and last else None


def _end(text: str, half: str | None) -> str | None:
    if ":" in text:
        return clock_words(text, half)
    return f"{cardinal(text)}{_half(half)}" if int(text) <= 24 else None


def duration(match: re.Match[str]) -> str | None:
    """1h30, 2h 15m, 1d 2h, 5m 30s."""
    parts = match.groupdict()
    return " ".join(
        f"{cardinal(parts[sign])} {unit}{'' if int(parts[sign]) == 1 else 's'}" for sign, unit in _UNITS if parts.get(sign)
    )


def ratio(match: re.Match[str]) -> str:
    """3:1, 16:9; minutes and seconds: 45:30."""
    joined = " " if len(match["second"]) == 2 and int(match["first"]) > 24 else " to "
    second = f"oh {by_digits(match['second'][1:])}" if joined == " " and match["second"][0] == "0" else cardinal(match["second"])
    return f"{cardinal(match['first'])}{joined}{second}"


def zone(match: re.Match[str]) -> str:
    """UTC+2, GMT-5."""
    return f"{letters(match['zone'])} {offset(match['sign'], match['hours'], match['minutes'])}"


def offset(sign: str, hours: str, minutes: str | None) -> str:
    """+02:00 from UTC."""
    return f"{'plus' if sign == '+' else 'minus'} {cardinal(hours)}" + (f" {cardinal(minutes)}" if int(minutes or 0) else "")


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTH = "(?P<month>" + "|".join(f"{month[:3]}(?:{month[3:]}|\\b\\.?)" for month in _MONTHS) + "|Sept\\.?)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?!:)"
ISO = re.compile(r"(?P<year>\d{4})(?P<sign>[-/])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?!\d)")
NUMERIC = re.compile(r"(?P<first>\d{1,2})(?P<sign>[/.-])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})(?![\d.-])")
MONTH_FIRST = re.compile(rf"{_MONTH}\s+{_DAY}(?:,?\s+(?P<year>\d{{4}})\b)?")
DAY_FIRST = re.compile(rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})\b)?")
_DAYS = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s?[-–—]\s?(?P<last>\d{1,2})(?:st|nd|rd|th)?\b(?!:)"
MONTH_SPAN = re.compile(rf"{_MONTH}\s+{_DAYS}(?:,?\s+(?P<year>\d{{4}})\b)?")
DAY_SPAN = re.compile(rf"{_DAYS}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})\b)?")
MONTH_YEAR = re.compile(rf"{_MONTH},?\s+(?P<year>[12]\d{{3}})\b")
MONTH_ALONE = re.compile(r"(?P<month>Jan|Feb|Apr|Aug|Sept?|Oct|Nov|Dec)\.")
STAMP = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:T|\s)(?P<clock>\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d{1,9})?"
    r"(?:(?P<utc>Z)|(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2}))?"
)
SHORT = re.compile(r"(?P<first>\d{1,2})/(?P<second>\d{1,2})(?![/\d])")
YEAR_MONTH = re.compile(r"(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9])(?![-\d])")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY = r"(?:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?:[a-z]*day)?|MON|TUES?|WED|THU(?:RS?)?|FRI|SAT|SUN)\b\.?"
WEEKDAY_SPAN = re.compile(rf"(?P<first>{_WEEKDAY})(?P<sign>\s?[-–—/&]\s?)(?P<last>{_WEEKDAY})(?P<third>/{_WEEKDAY})?")
WEEKDAY = re.compile(
    r"(?P<day>Mon|Tues?|Wed|Thu(?:rs?)?|Fri)\b\.?(?!\w)|(?P<other>Sat|Sun)\b\.?(?=,?\s(?:\d|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
_BEFORE_DATE = frozenset(
    ("on", "by", "until", "till", "before", "after", "since", "due", "starting", "dated", "from", "for", "date")
)


def _month(name: str) -> str:
    return next((month for month in _MONTHS if month.startswith(name[:3])), name)


def _date(month: int, day: int, its_year: str | None) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{_MONTHS[month - 1]} {ordinal(day)}" + (f", {year(int(its_year))}" if its_year else "")


def iso(match: re.Match[str]) -> str | None:
    """2026-11-21."""
    return _date(int(match["month"]), int(match["day"]), match["year"])


def numeric(match: re.Match[str], *, day_first: bool) -> str | None:
    """11/21/2026 or 21/11/2026. If both numbers could be the month, the setting decides. With dots the day stands first."""
    first, second = int(match["first"]), int(match["second"])
    if (day_first or match["sign"] == "." or first > 12) and second <= 12:
        first, second = second, first
    its_year = match["year"]
    return _date(first, second, its_year if len(its_year) == 4 else f"{20 if int(its_year) < 70 else 19}{its_year}")


def month_first(match: re.Match[str]) -> str | None:
    """November 21, 2026."""
    return _date(_MONTHS.index(_month(match["month"])) + 1, int(match["day"]), match["year"])


def day_first(match: re.Match[str]) -> str | None:
    """21 November 2026, the 21st of November."""
    if not 1 <= int(match["day"]) <= 31:
        return None
    article = "" if re.search(r"\bthe\s+$", match.string[: match.start()], re.IGNORECASE) else "the "
    its_year = f", {year(int(match['year']))}" if match["year"] else ""
    return f"{article}{ordinal(int(match['day']))} of {_month(match['month'])}{its_year}"


def month_span(match: re.Match[str]) -> str | None:
    """March 3-5, 2025."""
    if not 1 <= int(match["day"]) < int(match["last"]) <= 31:
        return None
    its_year = f", {year(int(match['year']))}" if match["year"] else ""
    return f"{_month(match['month'])} {ordinal(int(match['day']))} to {ordinal(int(match['last']))}{its_year}"


def day_span(match: re.Match[str]) -> str | None:
    """3-5 March 2025."""
    if not 1 <= int(match["day"]) < int(match["last"]) <= 31:
        return None
    its_year = f", {year(int(match['year']))}" if match["year"] else ""
    days = f"{ordinal(int(match['day']))} to the {ordinal(int(match['last']))}"
    article = "" if before(match) == "the" else "the "
    return f"{article}{days} of {_month(match['month'])}{its_year}"


def month_year(match: re.Match[str]) -> str:
    """Jan. 2025."""
    return f"{_month(match['month'])} {year(int(match['year']))}"


def month_alone(match: re.Match[str]) -> str:
    """Sept."""
    return _month(match["month"])


def year_month(match: re.Match[str]) -> str:
    """2025-03."""
    return f"{_MONTHS[int(match['month']) - 1]} {year(int(match['year']))}"


def stamp(match: re.Match[str]) -> str | None:
    """2025-03-15T10:30:00Z."""
    date = _date(int(match["month"]), int(match["day"]), match["year"])
    time = clock_words(match["clock"], exact=False)
    zone = " U T C" if match["utc"] else ""
    if match["sign"]:
        zone = f" U T C {offset(match['sign'], match['hours'], match['minutes'])}"
    return f"{date}, at {time}{zone}" if date and time else None


def short(match: re.Match[str], *, day_first: bool) -> str | None:
    """3/15 where a date is meant."""
    first, second = int(match["first"]), int(match["second"])
    near = before(match)
    dated = near in _BEFORE_DATE or any(day.lower().startswith(near) for day in _WEEKDAYS if len(near) > 2)
    if not dated and not (first <= 12 < second <= 31 and second not in (16, 20)):
        return None
    month, day = (second, first) if (day_first or first > 12) and second <= 12 else (first, second)
    return _date(month, day, None)


def _weekday(name: str) -> str:
    return next(day for day in _WEEKDAYS if day.lower().startswith(name[:3].lower()))


def weekday_span(match: re.Match[str]) -> str:
    """Mon-Fri, Sat & Sun, Mon/Wed/Fri."""
    first, last, third = _weekday(match["first"]), _weekday(match["last"]), match["third"]
    if third:
        return f"{first}, {last} and {_weekday(third[1:])}"
    return f"{first} {'and' if match['sign'].strip() in '/&' else 'to'} {last}"


def weekday(match: re.Match[str]) -> str:
    """Wed. and, before a date or a time, Sat and Sun."""
    return _weekday(match["day"] or match["other"])
