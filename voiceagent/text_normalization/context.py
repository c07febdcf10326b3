"""The words beside a written form, which tell how it is read. Pure."""

from __future__ import annotations

import re

_REACH = 80
"""Characters that are looked at on either side."""
_MARKS = ".,:;!?\"'“”‘’()[]…#"


def word_set(words: str) -> frozenset[str]:
    """Words that are separated by spaces."""
    return frozenset(words.split())


def words_before(match: re.Match[str], count: int = 1) -> list[str]:
    """The words before the form as they are written, without their punctuation; the nearest comes first."""
    start = match.start()
    words = match.string[max(0, start - _REACH) : start].split()
    return [word.strip(_MARKS) for word in reversed(words[-count:])]


def before(match: re.Match[str]) -> str:
    """The word before the form in small letters, empty if a sentence ends there."""
    words = match.string[max(0, match.start() - _REACH) : match.start()].split()
    return words[-1].strip(_MARKS).lower() if words and words[-1][-1] not in ".!?" else ""


def word_before(match: re.Match[str]) -> str:
    """The word before the form in small letters, also behind a full stop."""
    return (words_before(match) or [""])[0].lower()


def after(match: re.Match[str]) -> str:
    """The word after the form, without its punctuation; empty if punctuation stands before it."""
    following = re.match(r"\s+([^\s.,:;!?]+)", match.string[match.end() : match.end() + _REACH])
    return following[1].strip(_MARKS) if following else ""


def counts(word: str) -> bool:
    """True if a number before this word counts things: a plural, or a word such as "people"."""
    if not word.islower():
        return False
    return word in _MANY or (len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")))


_MANY = word_set("people men women children times more other new different feet percent of")
