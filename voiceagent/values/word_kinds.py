"""Values of words: a name, one of some choices, a yes or a no. Pure."""

from __future__ import annotations

import re

from voiceagent.turn_taking.language import bare_words, has_phrase
from voiceagent.turn_taking.request import agrees
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue

MOST_NAME_WORDS = 4
_SPELLED = re.compile(r"(?<!\w)\w(?:[\s.,-]+\w){2,}(?!\w)")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


class NameKind:
    """A person's name. One that is spelled is written as it was spelled."""

    name = "name"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        language = frame.words
        spelled = _SPELLED.findall(said)
        if spelled:
            letters = re.sub(r"[^\w]", "", spelled[-1])
            first = _before(so_far, letters) if so_far else ""
            return HeardValue(f"{first}{letters.capitalize()}", about_it=True)
        introduced = next((said[end:] for end in _introductions(said, frame)), None)
        words = _WORD.findall(said if introduced is None else introduced)
        skipped = language.no | language.backchannels | language.unfinished.get("filler", frozenset())
        words = [word for word in words if word.casefold() not in skipped]
        ordinary = language.openers | language.question_words | frozenset().union(*language.unfinished.values())
        if not words or len(words) > MOST_NAME_WORDS or "?" in said:
            return ELSEWHERE
        if introduced is None and any(word.casefold() in ordinary for word in words):
            return ELSEWHERE
        return HeardValue(" ".join(word[:1].upper() + word[1:] for word in words), about_it=True, doubtful=introduced is None)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        last = value.split()[-1]
        return f"{value}, {', '.join(last.upper())}"

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return ""

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "minLength": 2, "maxLength": 64}


def _before(name: str, letters: str) -> str:
    """The first names of a name whose last one was spelled anew."""
    first = name.split()[:-1]
    return f"{' '.join(first)} " if first and letters else ""


def _introductions(said: str, frame: Frame) -> list[int]:
    """The places behind "my name is" and the like, the last one first."""
    words = list(_WORD.finditer(said))
    bare = ["".join(bare_words(word.group())) for word in words]
    places = (
        words[start + len(phrase) - 1].end()
        for phrase in frame.words.introductions
        for start in range(len(words) - len(phrase))
        if tuple(bare[start : start + len(phrase)]) == phrase
    )
    return sorted(places, reverse=True)


class ChoiceKind:
    """One of `options.choices`: a list, or a mapping of each to other words for it."""

    name = "choice"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        words = bare_words(said)
        found = [
            choice
            for choice, forms in _choices(frame).items()
            if any(has_phrase(words, frozenset({tuple(bare_words(form))})) for form in (choice, *forms) if bare_words(form))
        ]
        if len(found) == 1:
            return HeardValue(found[0], about_it=True)
        return UNCLEAR if found else ELSEWHERE

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return value

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return " ".join(f"{choice}." for choice in _choices(frame))

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string"}


def _choices(frame: Frame) -> dict[str, list[str]]:
    given = frame.options.get("choices")
    if isinstance(given, dict):
        return {str(name): [str(form) for form in forms] if isinstance(forms, list) else [] for name, forms in given.items()}
    return {str(name): [] for name in given} if isinstance(given, list | tuple) else {}


KEYS = {"1": "yes", "2": "no"}


class YesNoKind:
    """A yes or a no. With `options.keys` also by the keys 1 and 2."""

    name = "yes_no"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        language, words = frame.words, bare_words(said)
        if frame.options.get("keys") and said.strip() in KEYS:
            return HeardValue(KEYS[said.strip()], about_it=True)
        refuses = [word for word in words[:3] if word in language.no]
        if agrees(said, language):
            return HeardValue("yes", about_it=True)
        if refuses:
            return HeardValue("no", about_it=True, doubtful=len(words) > MOST_NAME_WORDS)
        return HeardValue("yes", about_it=True, doubtful=True) if words and words[0] in language.yes else ELSEWHERE

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        words = frame.words
        return min(words.yes if value == "yes" else words.no, default=value)

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return ""

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "enum": ["yes", "no"]}
