"""Numbers as they are said and written: runs of digits, in groups ("4111 1111 …"), in words ("four one one one", "double five",
"forty-two") or both, each with its place in the text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {
    **{word: str(value) for value, word in enumerate(_UNITS)},
    **{word: str(value) for value, word in enumerate(_TEENS, start=10)},
    "oh": "0",
    "o": "0",
    "nought": "0",
}
_TENS_OF = {word: str(value) for value, word in enumerate(_TENS, start=2)}
_REPEATS = {"double": 2, "triple": 3}
_ITEM = re.compile(rf"\d+|\b(?:{'|'.join([*_WORDS, *_TENS_OF, *_REPEATS])})\b", re.IGNORECASE)
_GAP = re.compile(r"[\s\-–.,()/]{0,3}")
_OPEN_END = re.compile(r"[\s\-–.,()/]{0,3}([A-Za-z]*)")
_BEGINNINGS = frozenset(word[:length] for word in [*_WORDS, *_TENS_OF, *_REPEATS] for length in range(len(word)))
"""What may become a digit's word, nothing among them."""


@dataclass(frozen=True, slots=True)
class Run:
    """Digits that belong together."""

    groups: tuple[str, ...]
    """As they are grouped in the text; never empty."""
    start: int
    end: int
    """Where it begins and ends in the text."""
    open: bool
    """Whether it may go on after the text's end."""

    @property
    def digits(self) -> str:
        """All of them."""
        return "".join(self.groups)


def runs(text: str) -> Iterator[Run]:
    """The runs of a text, in order."""
    groups: list[str] = []
    start = end = 0
    tens, repeat = "", 1
    for match in _ITEM.finditer(text):
        if (groups or tens) and not _GAP.fullmatch(text, end, match.start()):
            yield Run((*groups, *([f"{tens}0"] if tens else [])), start, end, False)
            groups, tens, repeat = [], "", 1
        if not groups and not tens:
            start = match.start()
        end, word = match.end(), match.group().lower()
        digits = _WORDS.get(word) or "".join(str(int(digit)) for digit in word if digit.isdecimal())
        if tens and (len(digits) != 1 or digits == "0"):
            groups.append(f"{tens}0")
            tens = ""
        if word in _TENS_OF:
            tens = _TENS_OF[word]
        elif word in _REPEATS:
            repeat = _REPEATS[word]
        else:
            groups.append(f"{tens}{digits}" * repeat)
            tens, repeat = "", 1
    if groups or tens:
        yield Run((*groups, *([f"{tens}0"] if tens else [])), start, end, _may_go_on(text, end))


def _may_go_on(text: str, end: int) -> bool:
    match = _OPEN_END.fullmatch(text, end)
    return match is not None and match[1].lower() in _BEGINNINGS
