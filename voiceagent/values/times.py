"""Times of day: `time`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import contrast, opened
from voiceagent.values.spoken import Token, longest, number_table, proposes, questions, starts, tokens_of

NOON, DAY_HOURS, HOUR_MINUTES = 12, 24, 60
FIRST_OF_DAY = 7
"""An hour from this one on is in the morning, unless something else is said; an earlier one is in the afternoon."""


@dataclass(frozen=True, slots=True)
class TimeKind:
    """A time of day as HH:MM. Options `min` and `max` decide between morning and afternoon."""

    name: str = "time"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The time that was said last."""
        if questions(said, frame.language) and not proposes(said, frame.language):
            return ELSEWHERE
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        tokens = speech.tokens
        if so_far and not speech.restarts and (pair := contrast(tokens, own)):
            tokens = pair[0]
        ends = [
            end
            for at in range(len(tokens) - 1, 0, -1)
            if tokens[at].broken and (end := starts(tokens, at, own.repair)) and end < len(tokens)
        ]
        for part in (*(tokens[end:] for end in ends), tokens):
            if found := _clock(part, frame):
                return _heard(*found, _half(tokens, frame), so_far, frame)
        if so_far and (half := _half(tokens, frame)):  # "no, in the morning"
            return _heard(int(so_far[:2]) % NOON or NOON, int(so_far[3:5]), half, "", frame)
        return HeardValue(about_it=speech.restarts)

    def confirm(self, value: str, frame: Frame) -> str:
        """The time as it is written in the language."""
        own = dictation(frame.language)
        hour, minute = int(value[:2]), value[3:5]
        half = "AM" if hour < NOON else "PM"
        form = own.full_clocks if minute == "00" else own.clocks
        return form.format(hour=hour, hour12=hour % NOON or NOON, minute=minute, half=half)

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """HH:MM, in 24 hours."""
        return {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}


def _heard(hour: int, minute: int, half: str, before: str, frame: Frame) -> HeardValue:
    """The time, with its half of the day: as it was said, as `min` and `max` or the time before have it, or as is usual."""
    hour, minute = (hour + minute // HOUR_MINUTES) % (DAY_HOURS + 1), minute % HOUR_MINUTES
    if hour == DAY_HOURS:
        hour = 0
    doubtful = False
    if 1 <= hour <= NOON:
        morning, later = hour % NOON, hour % NOON + NOON
        if half == "night":
            half = "am" if hour in (NOON, 1, 2, 3, 4) else "pm"
        hours = {"am": (morning,), "pm": (later,)}.get(half, (morning, later) if hour < NOON else (later,))
        allowed = [one for one in hours if _within(one, minute, frame)]
        if not allowed:
            return UNCLEAR
        if len(allowed) > 1 and len(before) == len("00:00"):
            allowed = [one for one in allowed if (one < NOON) == (before < "12:00")] or allowed
        elif len(allowed) > 1:
            doubtful = True
            allowed = allowed[:1] if hour >= FIRST_OF_DAY else allowed[1:]
        hour = allowed[0]
    elif half == "pm" and hour < NOON:
        hour += NOON
    if not _within(hour, minute, frame):
        return UNCLEAR
    return HeardValue(f"{hour:02}:{minute:02}", about_it=True, doubtful=doubtful)


def _within(hour: int, minute: int, frame: Frame) -> bool:
    return frame.text("min", "00:00") <= f"{hour:02}:{minute:02}" <= frame.text("max", "24:00")


def _half(tokens: Sequence[Token], frame: Frame) -> str:
    """The half of the day that the words tell."""
    halves = dictation(frame.language).halves
    plain = _dotless(tokens)
    found = [match[0] for at in range(len(plain)) if (match := longest(plain, at, halves))]
    return found[-1] if found else ""


def _dotless(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens without the full stops of "p.m."."""
    return [Token(one.text, one.word, one.glued, False) for one in tokens if one.text != "."]


def _number(tokens: Sequence[Token], at: int, code: str, most: int) -> tuple[int, int] | None:
    if at >= len(tokens):
        return None
    word = tokens[at].word
    if word.isdecimal() and len(word) <= 2:
        return (int(word), at + 1) if int(word) <= most else None
    found = longest(tokens, at, number_table(code))
    return found if found and found[0] <= most else None


def _clock(tokens: Sequence[Token], frame: Frame) -> tuple[int, int] | None:
    """The last time in the words, as an hour and minutes, which may be negative or over 59."""
    own, code = dictation(frame.language), frame.language
    best: tuple[int, int] | None = None
    named: tuple[int, int] | None = None
    at = 0
    while at < len(tokens):
        if half := longest(tokens, at, own.halves):
            at = half[1]
            continue
        if (clock := longest(tokens, at, own.clock)) and not named:
            named = int(clock[0][:2]) or DAY_HOURS, int(clock[0][3:])
        one = _one(tokens, at, frame)
        at = at + 1 if one is None else one[2]
        best = best if one is None else _plain(one[0], one[1])
    if best is None and named is not None:
        return named
    if best is None:
        rest = [one for one in tokens if one.word and one.word not in own.beside]
        numbers = [found for index in range(len(tokens)) if (found := _number(tokens, index, code, DAY_HOURS))]
        return (numbers[-1][0], 0) if numbers and len(rest) <= 2 else None
    return best


def _plain(hour: int, minute: int) -> tuple[int, int]:
    if minute < 0:
        hour, minute = hour - 1, minute + HOUR_MINUTES
        hour = hour if hour > 0 else NOON
    return hour, minute


def _one(tokens: Sequence[Token], at: int, frame: Frame) -> tuple[int, int, int] | None:
    """The time that begins here: its hour, minutes and end."""
    own, code = dictation(frame.language), frame.language
    if (before := longest(tokens, at, own.before_hour)) and (hour := _hour_at(tokens, before[1], frame)):
        return hour[0], before[0], hour[1]
    figures = tokens[at].word
    if figures.isdecimal() and len(figures) in (3, 4) and int(figures[:-2]) < DAY_HOURS and int(figures[-2:]) < HOUR_MINUTES:
        return int(figures[:-2]), int(figures[-2:]), at + 1  # "1145 in the morning"
    number = _number(tokens, at, code, HOUR_MINUTES - 1)
    if number is None:
        return None
    value, end = number
    if sign := longest(tokens, end, own.minutes_from):
        added = longest(tokens, sign[1], own.before_hour)
        hour = _hour_at(tokens, added[1] if added else sign[1], frame)
        if hour and not (
            value > NOON and not added and value % 5 and sign[0] > 0 and not tokens[at].word.isdecimal() and hour[0] > NOON
        ):
            return hour[0], value * sign[0] + (added[0] if added else 0), hour[1]
    if value > DAY_HOURS:
        return None
    if end < len(tokens) and tokens[end].word in own.hour:
        end += 1
        has_hour = True
    else:
        has_hour = False
    if (behind := longest(tokens, end, own.after_hour)) is not None:
        return value, behind[0], behind[1]
    if (joined := longest(tokens, end, own.minutes_after)) and (minute := _number(tokens, joined[1], code, HOUR_MINUTES - 1)):
        if (more := longest(tokens, joined[1], own.quarters)) is not None:
            return value, joined[0] * more[0], more[1]
        return value, joined[0] * minute[0], minute[1]
    minutes = tokens[end + 1].word if end + 1 < len(tokens) and tokens[end].text in ":.h" and tokens[end].glued else ""
    if minutes.isdecimal() and len(minutes) == 2 and int(minutes) < HOUR_MINUTES:
        return value, int(tokens[end + 1].word), end + 2
    zero = longest(tokens, end, number_table(code))
    small = _number(tokens, zero[1], code, 9) if zero and not zero[0] and not tokens[end].broken else None
    if small:
        return value, small[0], small[1]
    minute = _number(tokens, end, code, HOUR_MINUTES - 1)
    if minute and not tokens[end].broken and (has_hour or minute[0] >= 10):
        return value, minute[0], minute[1]
    before_it = at > 0 and tokens[at - 1].word in own.at_time
    if has_hour or before_it or longest(_dotless(tokens[end : end + 8]), 0, own.halves):
        return value, 0, end
    return None


def _hour_at(tokens: Sequence[Token], at: int, frame: Frame) -> tuple[int, int] | None:
    own = dictation(frame.language)
    while at < len(tokens) and tokens[at].word in own.articles:
        at += 1
    if at < len(tokens) and (named := longest(tokens, at, own.clock)):
        return int(named[0][:2]) or DAY_HOURS, named[1]
    return _number(tokens, at, frame.language, DAY_HOURS)
