"""Yes or no: whether the caller agrees to exactly what was asked. Pure."""

from __future__ import annotations

from voiceagent.turn_taking.language import Language, bare_words

MAX_YES_WORDS = 8
"""A longer answer says more than yes."""


def agrees(said: str, language: Language) -> bool:
    """Whether the words are a plain yes: nothing but words and phrases of agreement, so "yes, but for five" is none."""
    words = bare_words(said)
    if not words or len(words) > MAX_YES_WORDS:
        return False
    left, phrases = _without(words, language.yes_phrases)
    plain = all(word in language.yes or word in language.beside_yes for word in left)
    return plain and (phrases > 0 or not language.yes.isdisjoint(left))


def _without(words: list[str], phrases: frozenset[tuple[str, ...]]) -> tuple[list[str], int]:
    """The words that belong to no phrase, the longest phrase removed first, and how many phrases there were."""
    left, found, at = list[str](), 0, 0
    longest_first = sorted(phrases, key=len, reverse=True)
    while at < len(words):
        phrase = next((one for one in longest_first if tuple(words[at : at + len(one)]) == one), None)
        if phrase is None:
            left.append(words[at])
        found += phrase is not None
        at += 1 if phrase is None else len(phrase)
    return left, found
