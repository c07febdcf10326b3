"""Times of day and durations as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.exactly import letters
from voiceagent.text_normalization.numerals import by_digits, cardinal

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
