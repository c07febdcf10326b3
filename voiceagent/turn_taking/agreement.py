"""Yes or no: whether the caller agrees to exactly what was asked. Pure."""

from __future__ import annotations

from voiceagent.turn_taking.language import Language, bare_words, without_phrases

MAX_YES_WORDS = 8
"""A longer answer says more than yes."""


def agrees(said: str, language: Language) -> bool:
    """Whether the words are a plain yes: nothing but words and phrases of agreement, so "yes, but for five" is none."""
    words = bare_words(said)
    if not words or len(words) > MAX_YES_WORDS:
        return False
    left, phrases = without_phrases(words, language.yes_phrases)
    plain = all(word in language.yes or word in language.beside_yes for word in left)
    return plain and (phrases > 0 or not language.yes.isdisjoint(left))
