"""Dates and times as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.exactly import letters
from voiceagent.text_normalization.numerals import cardinal, ordinal, year

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
ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})")
NUMERIC = re.compile(r"(?P<first>\d{1,2})(?P<sign>[/.])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4})")
MONTH_FIRST = re.compile(rf"{_MONTH}\s+{_DAY}(?:,?\s+(?P<year>\d{{4}})\b)?")
DAY_FIRST = re.compile(rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})\b)?")
CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2})?(?:\s?(?P<half>[aApP])(?:\.[mM]\.|[mM]\b))?")
HOUR = re.compile(r"(?P<hour>\d{1,2})\s?(?P<half>[aApP])(?:\.[mM]\.|[mM]\b)")


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
    return _date(first, second, match["year"])


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


def clock(match: re.Match[str]) -> str | None:
    """15:45, 3:30 pm, 9:05."""
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 24 or minute > 59:
        return None
    half = f" {letters(match['half'] + 'm')}" if match["half"] else ""
    if minute:
        return f"{cardinal(str(hour))} {'oh ' if minute < 10 else ''}{cardinal(str(minute))}{half}"
    if half:
        return f"{cardinal(str(hour))}{half}"
    full = "hundred" if hour > 12 else "o'clock"
    return f"{cardinal(str(hour))} {full}"


def hour(match: re.Match[str]) -> str | None:
    """9 am."""
    return f"{cardinal(match['hour'])} {letters(match['half'] + 'm')}" if 1 <= int(match["hour"]) <= 12 else None
