"""Checks whether the arguments of a tool call were said: their words must stand in what the caller said or in what tools told. A
wrong time of day is replaced by the time that the caller said. An argument that a tool needs and its call lacks counts as
unsaid. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from voiceagent.conversation.history import Message, read_arguments
from voiceagent.grounding.choices import choices, is_given, nearest, was_chosen
from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.words import SHORTEST_CODE, Clock, Word, clocks, one_clock, words_of
from voiceagent.json_types import JsonObject

SHORTEST_JOINED = 5
"""The fewest letters of a name that may be written in another number of words: "hair cut"."""
HALF = 0.5
_TIME_IN_DIGITS = re.compile(r"(\d{1,2}?)[ .]?(\d{2})(?!\d)")
"""A time of day without its colon: "930"."""
_CODE = re.compile(r"\d+([ -]\d+)*")
UNSAID = object()
"""In place of a value that nobody said."""
NO_MEANINGS: Mapping[str, Sequence[str]] = {}
REMEMBERED_MESSAGES = 60
REMEMBERED_CHARACTERS = 3000
"""Longest distance back, in messages and in their characters, at which an argument may have been said: the check runs on the
event loop."""


class Said:
    """The words of a call so far, computed on demand."""

    def __init__(
        self, messages: Sequence[Message], language: GroundingWords, means: Mapping[str, Sequence[str]] = NO_MEANINGS
    ) -> None:
        """`means`: further words for a choice, by the choice."""
        self.means = means
        self._language = language
        self._words: list[list[Word]] = []
        self.by_caller: list[list[Word]] = []
        """The caller's words, the latest first."""
        names = (call.name for message in messages for call in message.tool_calls)
        self.called = frozenset(word.text for name in names for word in words_of(name.replace("_", " "), language))
        """The words of the names of the tools that were called."""
        left = REMEMBERED_CHARACTERS
        for message in reversed(messages[-REMEMBERED_MESSAGES:]):
            if left > 0 and (message.role == "user" or (message.role == "tool" and not is_error(message.content))):
                words = words_of(message.content[-left:], language)
                self._words.append(words)
                if message.role == "user":
                    self.by_caller.append(words)
                left -= len(message.content)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, and the signs of arithmetic that some words mean."""
        plain = {word.text for words in self._words for word in words}
        return frozenset(plain | {self._language.signs[word] for word in plain & self._language.signs.keys()})

    @cached_property
    def joined(self) -> str:
        """All letters, text by text, without hyphens: "K-L-M 4-2-2"."""
        return "\n".join("".join(word.text for word in words if word.text != "-") for words in self._words)

    @cached_property
    def _codes(self) -> str:
        """All digits, a line for each run of them."""
        return "\n".join(_digits(words) for words in self._words)

    @cached_property
    def _by_sound(self) -> dict[str, str]:
        """Codes with digits that were written as words, by what is left of them without those."""
        codes: dict[str, str] = {}
        for words in self.by_caller:
            if any(word.by_sound for word in words):
                plain = _digits([word for word in words if not word.by_sound]).split()
                codes.update((left, whole) for left, whole in zip(plain, _digits(words).split(), strict=True) if left != whole)
        return codes

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """Every time of day, the latest first."""
        return tuple(clock for words in self._words for clock in clocks(words, self._language))

    @cached_property
    def last_clocks(self) -> tuple[Clock, ...]:
        """The times in what the caller said last."""
        return tuple(clocks(self.by_caller[0], self._language)) if self.by_caller else ()

    @cached_property
    def amounts(self) -> frozenset[float]:
        """The numbers that phrases such as "a dozen" mean."""
        plain = "\n".join(f" {_text(words)} " for words in self._words)
        return frozenset(value for phrase, value in _amounts(self._language) if phrase in plain)

    @cached_property
    def numbers_by_caller(self) -> Counter[str]:
        """Counts each number the caller said, as a number or as the hour of a time."""
        return Counter(
            word.text.partition(":")[0].lstrip("0") or "0"
            for words in self.by_caller
            for word in words
            if word.number is not None or ":" in word.text
        )

    def has_number(self, value: float) -> bool:
        """True if the number was said."""
        text = f"{abs(value):g}"
        if all(part in self.words for part in text.split(".")) or value in self.amounts:
            return True
        return value % 1 == HALF and HALF in self.amounts and f"{value - HALF:g}" in self.words  # "two and a half"

    def code(self, digits: str) -> str:
        """The digits, if they were said, in whatever groups, and with those that were written as words that sound like them; else
        the only code in the caller's last words, if it is as long; else nothing."""
        if digits in self._by_sound:
            return self._by_sound[digits]
        if digits in self._codes:
            return digits
        last = _digits(self.by_caller[0]).split() if self.by_caller else []
        codes = [code for code in last if len(code) >= SHORTEST_CODE]
        return codes[0] if len(codes) == 1 and len(codes[0]) == len(digits) else ""


def _text(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)


def _digits(words: Sequence[Word]) -> str:
    """The digits among the words, a line for each run of them. Hyphens may stand between them: "4-8-2"."""
    return "".join(word.text if word.number is not None else "" if word.text == "-" else "\n" for word in words)


@cache
def _amounts(language: GroundingWords) -> tuple[tuple[str, float], ...]:
    """The phrases that mean a number, in the form in which they are searched."""
    return tuple((f" {_text(words_of(phrase, language))} ", value) for phrase, value in language.amounts.items())


def is_error(output: str) -> bool:
    """True if a tool's result is an error: nobody said the words of an error."""
    return "error" in (read_arguments(output) or {})


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    arguments: dict[str, object]
    """The arguments, with corrections."""
    unsaid: tuple[str, ...] = ()
    """The arguments that nobody said."""
    mended: bool = False

    def without(self, names: Sequence[str]) -> Checked:
        """A copy without some arguments."""
        left = {name: value for name, value in self.arguments.items() if name not in names}
        return Checked(left, (), self.mended or len(left) < len(self.arguments))

    @property
    def text(self) -> str:
        """The arguments in the form that a model writes."""
        return json.dumps(self.arguments, ensure_ascii=False)


def check(arguments: Mapping[str, object], parameters: JsonObject, said: Said, language: GroundingWords) -> Checked:
    """Check a tool call's arguments, `parameters` being its JSON schema."""
    properties = parameters.get("properties") or {}
    given, unsaid, hours = dict(arguments), [], {}
    for name, value in arguments.items():
        found, clock = _found(value, name, properties.get(name), said, language)
        if found is UNSAID:
            unsaid.append(name)
            continue
        given[name] = found
        if clock is not None:
            hours[name] = str(clock.hour)
    required = parameters.get("required") or ()
    seldom = (*_said_too_seldom(given, hours, properties, said), *_named_twice(given, properties, required, said, language))
    missing = [name for name in required if _is_missing(given.get(name), properties.get(name))]
    unsaid += [name for name in dict.fromkeys((*missing, *seldom)) if name not in unsaid]
    return Checked(given, tuple(unsaid), given != dict(arguments))


def _found(value: object, name: str, schema: object, said: Said, language: GroundingWords) -> tuple[object, Clock | None]:
    """A value as it was said, or UNSAID; and the time of day that it is, if it is one."""
    schema = schema if isinstance(schema, Mapping) else {}
    if isinstance(value, list):
        items = [_found(item, name, schema.get("items"), said, language)[0] for item in value]
        return (UNSAID if UNSAID in items else items), None
    if isinstance(value, dict):
        inner = schema.get("properties") or {}
        parts = {key: _found(part, key, inner.get(key), said, language)[0] for key, part in value.items()}
        lacks = any(_is_missing(parts.get(key), inner.get(key)) for key in schema.get("required") or ())
        return (UNSAID if lacks or UNSAID in parts.values() else parts), None
    if _is_settled(value, schema):
        return (value if _was_said(value, schema, said, language) else UNSAID), None
    clock = _clock_of(value, name, schema, said, language)
    if clock is not None:
        right = _as_said(clock, said)
        if right is None:
            return UNSAID, None
        return (value if right == clock and not _TIME_IN_DIGITS.match(str(value)) else right.written(language)), right
    code = _code(value)
    if code and (right_code := said.code(code)):
        return (value if right_code == code else right_code), None
    if _was_said(value, schema, said, language):
        return value, None
    near = nearest(value, said.by_caller, language)
    return (UNSAID if near is None else near), None


def _is_settled(value: object, schema: object) -> bool:
    """True if the schema gives the value or lists its choices."""
    return is_given(value, schema) or bool(choices(schema))


def _is_missing(value: object, schema: object) -> bool:
    """True if a required argument has no value, and the schema neither supplies one nor allows null."""
    if value not in (None, "") or is_given(value, schema):
        return False
    schema = schema if isinstance(schema, Mapping) else {}
    return "default" not in schema and not (value is None and "null" in str(schema))


def _clock_of(value: object, name: str, schema: object, said: Said, language: GroundingWords) -> Clock | None:
    """The time of day that a value is: plainly, or in digits where the caller said that time, or the argument is a time."""
    if not isinstance(value, str):
        return None
    clock = one_clock(value, language)
    digits = _TIME_IN_DIGITS.fullmatch(value.strip())
    if clock is not None or digits is None:
        return clock
    clock = one_clock(f"{digits[1]}:{digits[2]}", language)
    if clock is None:
        return None
    description = schema.get("description", "") if isinstance(schema, Mapping) else ""
    about = words_of(f"{name.replace('_', ' ')} {description}", language)
    is_time = any(word.text in language.time_names for word in about)
    meant = [other for other in said.clocks if other.same_hand(clock) and (other.is_plain or is_time)]
    return clock if meant else None


def _as_said(clock: Clock, said: Said) -> Clock | None:
    """The time as it was said: the same time, with no more of the day's half than was said; else the only time in the caller's
    last words, or the only number in them that may be its hour. None if it was not said."""
    same = [other for other in said.clocks if other.same_hand(clock)]
    if any(not clock.half or other.half == clock.half for other in same):
        return clock
    if same:
        return Clock(clock.hour, clock.minute, same[0].half)
    plain = [other for other in said.last_clocks if other.is_plain]
    of_hour = [other for other in said.last_clocks if other.hour == clock.hour]
    only = next((some[0] for some in (plain, of_hour) if len(some) == 1), None)
    return Clock(only.hour, only.minute, only.half) if only else None


def _was_said(value: object, schema: object, said: Said, language: GroundingWords) -> bool:
    if value is None or value == "" or isinstance(value, bool) or is_given(value, schema):
        return True
    if choices(schema):
        return was_chosen(value, schema, said, language)
    if isinstance(value, int | float):
        return said.has_number(value) or _is_code_said(value, said)
    if code := _code(value):
        return said.code(code) == code
    words = [word.text for word in words_of(str(value), language)]
    joined = "".join(words)
    return said.words.issuperset(words) or (len(joined) >= SHORTEST_JOINED and joined in said.joined)


def _is_code_said(value: float, said: Said) -> bool:
    """True if a number was said digit by digit."""
    digits = str(value) if isinstance(value, int) and value >= 10 ** (SHORTEST_CODE - 1) else ""
    return bool(digits) and said.code(digits) == digits


def _code(value: object) -> str:
    """The digits of a value that is a code; nothing if it is none."""
    digits = re.sub(r"[ -]", "", value) if isinstance(value, str) and _CODE.fullmatch(value) else ""
    return digits if len(digits) >= SHORTEST_CODE else ""


def _said_too_seldom(
    given: Mapping[str, object], hours: Mapping[str, str], properties: Mapping[str, object], said: Said
) -> list[str]:
    """Arguments that would all need, as numbers or as hours of times, one number that the caller said only once."""
    uses: dict[str, list[str]] = {}
    for name, value in given.items():
        is_number = (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.isdecimal())
        is_number = is_number and not _is_settled(value, properties.get(name))
        number = str(value) if is_number else hours.get(name)
        if number is not None:
            uses.setdefault(number, []).append(name)
    heard = said.numbers_by_caller
    return [name for number, names in uses.items() if len(names) > 1 and heard[number] == 1 for name in names]


def _named_twice(
    given: Mapping[str, object],
    properties: Mapping[str, object],
    required: Sequence[str],
    said: Said,
    language: GroundingWords,
) -> list[str]:
    """Arguments whose words stand in another argument already, and were said only once: those that the tool does not need go
    first."""
    heard = [f" {_text(words)} " for words in said.by_caller]
    taken: Counter[str] = Counter()
    found = []
    for name in sorted(given, key=lambda name: name not in required):
        value = given[name]
        if not isinstance(value, str) or value.isdecimal() or _is_settled(value, properties.get(name)):
            continue
        text = f" {_text(words_of(value, language))} "
        taken[text] += 1
        if text.strip() and 0 < sum(words.count(text) for words in heard) < taken[text]:
            found.append(name)
    return found
