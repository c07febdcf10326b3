"""Payment card and telephone numbers. A run of digits is judged when it is complete. While it may still go on, it is held.

Numbers as they are said and written: runs of digits, each with its place in the text. Digits may be in groups ("4111 1111 …"),
in words ("four one one one", "double five", "forty-two") or both. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from num2words import CONVERTER_CLASSES, num2words
from typing_extensions import override

from voiceagent.guard.verdict import ALLOWED, PausingRule, Rule, Steps, Verdict, at_once
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.spoken_language import AUTO
from voiceagent.values.card_numbers import is_card

_LETTERS = r"[^\W\d_]"
_GAP = re.compile(r"[\s\-–.,()/]{0,3}")
_OPEN_END = re.compile(rf"[\s\-–.,()/]{{0,3}}({_LETTERS}*)")
_ITEM_BEGINS = re.compile(r"\d|\b[^\W\d]")
"""A possible beginning of digits or of a word for them: a search for the words themselves cannot pause in a long text that has
none."""
MOST_IN_WORDS = 100
"""Numbers below it are said as one word or phrase, also within a telephone number."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberWords:
    """The words for digits in a language."""

    values: Mapping[str, str]
    """The digits by their words, which are lower-case and separated by spaces."""
    repeats: Mapping[str, int]
    """Words that repeat the digit after them, "double"."""
    item: re.Pattern[str]
    """Matches digits, or the longest of the words."""
    beginnings: frozenset[str]
    """Texts that may become one of them, the empty text included."""


@functools.cache
def number_words(code: str) -> NumberWords:
    """The number words of a language by its code, or of all languages that have a file, if it may be any. An unknown language has
    digits alone."""
    values: dict[str, str] = {}
    repeats: dict[str, int] = {}
    for one in sorted(LANGUAGES, key=lambda other: other != "en") if code == AUTO else [code]:
        if one in CONVERTER_CLASSES:
            for value in range(MOST_IN_WORDS):
                values.setdefault(_spaced(str(num2words(value, lang=one))), str(value))
        if one in LANGUAGES:
            for word, value in LANGUAGES[one].numbers.items():
                if value < MOST_IN_WORDS:
                    values.setdefault(word, str(value))
            repeats |= LANGUAGES[one].repeats
    words = sorted([*values, *repeats], key=len, reverse=True)
    alternatives = "|".join(re.escape(word).replace(r"\ ", r"[\s\-]+") for word in words)
    item = re.compile(rf"\d+|\b(?:{alternatives})\b" if words else r"\d+", re.IGNORECASE)
    parts = {part for word in words for part in word.split()}
    return NumberWords(values, repeats, item, frozenset(word[:length] for word in parts for length in range(len(word))) | {""})


def _spaced(words: str) -> str:
    return " ".join(re.split(r"[\s\-]+", words.casefold()))


@dataclass(frozen=True, slots=True)
class Run:
    """Digits that belong together."""

    groups: tuple[str, ...]
    """The digits as they are grouped in the text; never empty."""
    start: int
    end: int
    """The end of the run in the text; `start` is its beginning."""
    open: bool
    """True if the run may go on after the text's end."""

    @property
    def digits(self) -> str:
        """All of them."""
        return "".join(self.groups)


def runs(text: str, code: str = "en") -> Generator[None, None, list[Run]]:
    """The runs of a text in the language of that code, in order. Yields where the search may pause."""
    known = number_words(code)
    found: list[Run] = []
    groups: list[str] = []
    start = end = 0
    repeat = 1
    at = 0
    while (begin := _ITEM_BEGINS.search(text, at)) is not None:
        yield
        match = known.item.match(text, begin.start())
        at = begin.end() if match is None else match.end()
        if match is None:
            continue
        if groups and not _GAP.fullmatch(text, end, match.start()):
            found.append(Run(tuple(groups), start, end, False))
            groups, repeat = [], 1
        if not groups and repeat == 1:
            start = match.start()
        end, word = match.end(), _spaced(match.group())
        if word in known.repeats:
            repeat = known.repeats[word]
            continue
        digits = known.values.get(word) or "".join(str(int(digit)) for digit in word if digit.isdecimal())
        groups.append(digits * repeat)
        repeat = 1
    if groups:
        found.append(Run(tuple(groups), start, end, _may_go_on(text, end, known)))
    return found


def _may_go_on(text: str, end: int, known: NumberWords) -> bool:
    match = _OPEN_END.fullmatch(text, end)
    return match is not None and match[1].casefold() in known.beginnings


def candidates(text: str, region: str) -> Iterator[bool]:
    """Yields for each candidate of libphonenumber's search, in order, whether it is a valid number of the region, or an
    international one. It takes the steps of `PhoneNumberMatcher._find` (phonenumbers 9), which itself goes on until it has found
    a number: here a long text full of digits can be searched with pauses."""
    from phonenumbers import phonenumbermatcher as library  # 70 ms to import: only where telephone numbers are looked for
    from phonenumbers import phonenumberutil

    matcher = library.PhoneNumberMatcher(text, region)
    match = library._PATTERN.search(text)
    while match is not None:
        candidate = matcher._trim_after_first_match(phonenumberutil._SECOND_NUMBER_START_PATTERN, match.group())
        yield matcher._extract_match(candidate, match.start()) is not None
        match = library._PATTERN.search(text, match.start() + len(candidate))


HELD_FROM_DIGITS = 4
MOST_DIGITS = 24
"""A longer run is not held: it is no number that is said."""
SHORTEST_CARD, LONGEST_CARD = 13, 19
PHONE_DIGITS = 7
"""A run of fewer digits does not count as a telephone number."""
_PLUS = re.compile(r"\bplus$", re.IGNORECASE)


def _holds_card(run: Run) -> Generator[None, None, bool]:
    """True if some complete groups of the run are a card number: other numbers may stand right before and after it."""
    for first in range(len(run.groups)):
        yield
        digits = ""
        for group in islice(run.groups, first, first + LONGEST_CARD + 1):
            digits += group
            if len(digits) > LONGEST_CARD:
                break
            if len(digits) >= SHORTEST_CARD and is_card(digits):
                return True
    return False


def _held(text: str, run: Run) -> int:
    return len(text) - run.start if HELD_FROM_DIGITS <= len(run.digits) <= MOST_DIGITS else 0


class CardNumbers(PausingRule, Rule):
    """The rule `cards`."""

    def __init__(self, code: str = "en") -> None:
        """`code` is the language in which numbers are said."""
        self._code = code
        number_words(code)  # takes a while the first time

    @override
    def find(self, text: str, *, last: bool) -> Verdict:
        return at_once(self.steps(text, last=last))

    @override
    def steps(self, text: str, *, last: bool) -> Steps:
        for run in (yield from runs(text, self._code)):
            if run.open and not last and (held := _held(text, run)):
                return Verdict(hold=held)
            if (yield from _holds_card(run)):
                return Verdict("cards")
        return ALLOWED


class PhoneNumbers(PausingRule, Rule):
    """The rule `phones`: numbers that libphonenumber calls valid, of the region or international."""

    def __init__(self, region: str, code: str = "en") -> None:
        """`code` is the language in which numbers are said."""
        self._region, self._code = region, code
        self.find("+1 650 253 0000", last=True)  # reads the region's patterns, which takes a while the first time

    @override
    def find(self, text: str, *, last: bool) -> Verdict:
        return at_once(self.steps(text, last=last))

    @override
    def steps(self, text: str, *, last: bool) -> Steps:
        found = yield from runs(text, self._code)
        held = _held(text, found[-1]) if found and found[-1].open and not last else 0
        if held:
            text, found = text[: found[-1].start], found[:-1]
        if any(len(run.digits) >= PHONE_DIGITS for run in found):
            written = yield from _in_digits(text, found)
            for is_valid in candidates(written, self._region):
                if is_valid:
                    return Verdict("phones")
                yield
        return Verdict(hold=held)


def _in_digits(text: str, found: list[Run]) -> Generator[None, None, str]:
    """The text with numbers in words written in digits. Numbers that are in digits already keep their punctuation."""
    for run in reversed(found):
        yield
        said = text[run.start : run.end]
        if re.search(r"[A-Za-z]", said):
            before = text[: run.start].rstrip()
            plus = _PLUS.search(before, max(0, len(before) - 5)) if len(before) < run.start else None
            text = text[: plus.end() - 4 if plus else run.start] + ("+" if plus else "") + run.digits + text[run.end :]
    return text
