"""Numbers as they are said and written: runs of digits, each with its place in the text. Digits may be in groups ("4111 1111 …"),
in words ("four one one one", "double five", "forty-two") or both. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass

from num2words import CONVERTER_CLASSES, num2words

from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.spoken_language import AUTO

_LETTERS = r"[^\W\d_]"
_GAP = re.compile(r"[\s\-–.,()/]{0,3}")
_OPEN_END = re.compile(rf"[\s\-–.,()/]{{0,3}}({_LETTERS}*)")
_ITEM_BEGINS = re.compile(r"\d|\b[^\W\d]")
"""Where digits or a word for them may begin: a search for the words themselves cannot pause in a long text that has none."""
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
