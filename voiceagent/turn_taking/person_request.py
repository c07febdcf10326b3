"""Tells whether a caller asks for a person instead of the agent. A language's file names the people whom callers ask for, and
the sentences that they ask in. Pure."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_WORDS = 60
"""Only the last words of a turn are searched."""
ALIKE_LETTERS = 8
"""Words of so many letters may differ in one: recognisers misspell long words."""
REFUSING_WORDS = 3
"""A refusing word so many words before a request makes it none."""
GAP_WORDS = 6
"""At most so many words may stand between a person and the verb at the end of a sentence ("mit jemandem … sprechen")."""

Template = tuple[tuple[str, ...], tuple[str, ...]]
"""The words before the person and those behind."""


@dataclass(frozen=True, slots=True)
class PersonWords:
    """The words of one language. Each text holds words or phrases that bars separate."""

    people: str = ""
    """People callers ask for: "operator|real person"."""
    alone: str = ""
    """The people whose mere name is a request for them: "operator, please"."""
    between: str = ""
    """Words that may stand before a person: articles, adjectives."""
    requests: str = ""
    """Sentences that ask for a person, who stands at `*`: "speak to *". The rest of the utterance does not matter."""
    wishes: str = ""
    """Sentences that ask for a person only if nothing but `polite` words follows: "I need *"."""
    polite: str = ""
    """Words that change nothing beside a person who is named alone."""
    refusals: str = ""
    """Words before a request that cancel it: "don't", "told"."""
    others: str = ""
    """Words behind a person that make somebody or something else of them: "human resources"."""


class PersonRequests:
    """The requests of some languages."""

    def __init__(self, languages: Iterable[PersonWords]) -> None:
        self._languages = [_Matcher(words) for words in languages if words.people]

    def made_in(self, text: str) -> bool:
        """True if these words of the caller ask for a person."""
        heard = _Heard.of(text)
        return bool(heard.words) and any(one.asks(heard) for one in self._languages)


@functools.lru_cache(maxsize=16)
def person_requests(languages: tuple[PersonWords, ...]) -> PersonRequests:
    """Made once for the same languages."""
    return PersonRequests(languages)


_PUNCTUATION = re.compile(r"[.,;:!?¿¡…]+")


def folded(text: str) -> list[str]:
    """Words without case, accents, apostrophes and punctuation. A hyphen parts two words."""
    plain = unicodedata.normalize("NFD", text.casefold().replace("-", " "))
    return "".join(sign for sign in plain if sign.isalnum() or sign.isspace()).split()


@dataclass(frozen=True, slots=True)
class _Heard:
    """The caller's words."""

    words: list[str]
    clauses: list[int]
    """The number of each word's clause; marks of punctuation separate clauses."""

    @classmethod
    def of(cls, text: str) -> _Heard:
        stretches = [folded(stretch) for stretch in _PUNCTUATION.split(text)]
        words = [word for stretch in stretches for word in stretch]
        clauses = [number for number, stretch in enumerate(stretches) for _ in stretch]
        return cls(words[-MAX_WORDS:], clauses[-MAX_WORDS:])


class _Matcher:
    """Finds requests for a person in one language."""

    def __init__(self, words: PersonWords) -> None:
        self._alone = _phrases(words.alone)
        self._people = _phrases(words.people) + self._alone
        self._between = frozenset(folded(words.between))
        self._polite = frozenset(folded(words.polite)) | self._between
        self._refusals = frozenset(folded(words.refusals))
        self._others = frozenset(folded(words.others))
        self._requests = _templates(words.requests)
        self._wishes = _templates(words.wishes)

    def asks(self, heard: _Heard) -> bool:
        return any(self._is_asked_for(heard, start, end) for start, end in self._named(heard.words))

    def _named(self, words: Sequence[str]) -> Iterable[tuple[int, int]]:
        """Yields each mention of a person: the index of its first word, and of the one behind its last."""
        for start in range(len(words)):
            for phrase in self._people:
                end = start + len(phrase)
                if _stand(phrase, words, start) and (end == len(words) or words[end] not in self._others):
                    yield start, end

    def _is_asked_for(self, heard: _Heard, start: int, end: int) -> bool:
        words, firsts = heard.words, [start]
        while firsts[-1] and words[firsts[-1] - 1] in self._between:
            firsts.append(firsts[-1] - 1)
        ends_here = self._polite.issuperset(words[end:])
        if ends_here and self._polite.issuperset(words[:start]) and self._is_enough(words[start:end]):
            return True
        templates = [*self._requests, *self._wishes] if ends_here else self._requests
        return any(self._fits(template, heard, first, end) for template in templates for first in firsts)

    def _is_enough(self, named: Sequence[str]) -> bool:
        return any(len(phrase) == len(named) and _stand(phrase, named, 0) for phrase in self._alone)

    def _fits(self, template: Template, heard: _Heard, first: int, end: int) -> bool:
        before, behind = template
        words, begin = heard.words, first - len(before)
        if begin < 0 or not _stand(before, words, begin):
            return False
        since = max(0, begin - REFUSING_WORDS)
        if any(heard.clauses[at] == heard.clauses[begin] and words[at] in self._refusals for at in range(since, begin)):
            return False
        gaps = range(min(GAP_WORDS, len(words) - end) + 1) if behind else (0,)
        return any(
            _stand(behind, words, end + gap) and self._refusals.isdisjoint(words[end : end + gap + len(behind)]) for gap in gaps
        )


def _phrases(text: str) -> list[tuple[str, ...]]:
    return [tuple(folded(phrase)) for phrase in text.split("|") if phrase.strip()]


def _templates(text: str) -> list[Template]:
    parts = (sentence.partition("*") for sentence in text.split("|") if "*" in sentence)
    return [(tuple(folded(before)), tuple(folded(behind))) for before, _, behind in parts]


def _stand(phrase: Sequence[str], heard: Sequence[str], start: int) -> bool:
    """True if the phrase stands at `start`."""
    found = heard[start : start + len(phrase)]
    return len(found) == len(phrase) and all(map(_alike, phrase, found))


def _alike(word: str, heard: str) -> bool:
    """True if a word may be heard as the other: long ones may differ in one letter."""
    if word == heard:
        return True
    if len(word) < ALIKE_LETTERS or abs(len(word) - len(heard)) > 1:
        return False
    at = next((at for at, pair in enumerate(zip(word, heard, strict=False)) if pair[0] != pair[1]), min(len(word), len(heard)))
    rest, rest_heard = word[at:], heard[at:]
    return rest[1:] == rest_heard[1:] or rest[1:] == rest_heard or rest == rest_heard[1:]
