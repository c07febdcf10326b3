"""What a caller said in place of an argument that nobody said as it stands: the same words in other forms, or a sum with other
numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.words import Word, words_of

LEAST_COMMON, LEAST_COMMON_SHARE = 3, 0.6
"""Of two forms of a word, so many letters at their beginning are the same, and so much of the longer one: "build" and
"building"."""
MOST_WORDS = 8
_SUM = re.compile(r"[\d\s.()]*\d[\d\s.()]*(?:[-+*/][\d\s.()]*\d[\d\s.()]*)+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def nearest(value: object, by_caller: Sequence[Sequence[Word]], language: GroundingWords) -> str | None:
    """The argument as the caller said it, `by_caller` being the caller's words, the latest first. None if nothing is near."""
    if not isinstance(value, str):
        return None
    if _SUM.fullmatch(value):
        return _with_numbers(value, by_caller[0], language) if by_caller else None
    wanted = [word.text for word in words_of(value, language)]
    if not 0 < len(wanted) <= MOST_WORDS:
        return None
    found = (_in_other_forms(wanted, [word.text for word in words]) for words in by_caller)
    return next((text for text in found if text), None)


def _in_other_forms(wanted: Sequence[str], words: Sequence[str]) -> str:
    """The words in a row that are the wanted ones, in any order and form; empty if there are none."""
    for start in range(len(words) - len(wanted) + 1):
        row = words[start : start + len(wanted)]
        left = list(row)
        for word in wanted:
            match = next((other for other in left if _is_form_of(word, other)), None)
            if match is None:
                break
            left.remove(match)
        else:
            return " ".join(row)
    return ""


def _is_form_of(word: str, other: str) -> bool:
    if word == other:
        return True
    common = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    return common >= LEAST_COMMON and common >= LEAST_COMMON_SHARE * max(len(word), len(other)) and not word[0].isdigit()


def _with_numbers(total: str, words: Sequence[Word], language: GroundingWords) -> str | None:
    """The sum with the numbers of the caller's last words, if there are as many and its signs were said."""
    said = [word.text for word in words if word.number is not None]
    meant = {language.signs.get(word.text, word.text) for word in words}
    if len(said) != len(_NUMBER.findall(total)) or not set(re.findall(r"[-+*/]", total)) <= meant:
        return None
    numbers = iter(said)
    return _NUMBER.sub(lambda _: next(numbers), total)
