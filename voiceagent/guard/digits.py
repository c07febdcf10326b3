"""Numbers as they are said and written: runs of digits, each with its place in the text. Digits may be in groups ("4111 1111 …"),
in words ("four one one one", "double five", "forty-two") or both. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from num2words import CONVERTER_CLASSES, num2words

from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.spoken_language import AUTO

_LETTERS = r"[^\W\d_]"
_GAP = re.compile(r"[\s\-–.,()/]{0,3}")
_OPEN_END = re.compile(rf"[\s\-–.,()/]{{0,3}}({_LETTERS}*)")
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
    """Where the run begins and ends in the text."""
    open: bool
    """Whether the run may go on after the text's end."""

    @property
    def digits(self) -> str:
        """All of them."""
        return "".join(self.groups)


def runs(text: str, code: str = "en") -> Iterator[Run]:
    """The runs of a text in the language of that code, in order."""
    known = number_words(code)
    groups: list[str] = []
    start = end = 0
    repeat = 1
    for match in known.item.finditer(text):
        if groups and not _GAP.fullmatch(text, end, match.start()):
            yield Run(tuple(groups), start, end, False)
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
        yield Run(tuple(groups), start, end, _may_go_on(text, end, known))


def _may_go_on(text: str, end: int, known: NumberWords) -> bool:
    match = _OPEN_END.fullmatch(text, end)
    return match is not None and match[1].casefold() in known.beginnings
