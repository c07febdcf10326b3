"""Blocked phrases and topics. Phrases are compared word by word in a plain form, so a phrase is found however it is written and
wherever tokens or clauses divide it. Text that may begin a phrase is held."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from typing_extensions import override

from voiceagent.guard.steps import PausingRule, Steps, at_once
from voiceagent.guard.verdict import ALLOWED, Rule, Verdict

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def plain(word: str) -> str:
    """A word without case, accents and apostrophes."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if letter.isalnum())


class BlockedPhrases(PausingRule, Rule):
    """The rule `phrases`."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases:
            words = tuple(plain(word) for word in _WORD.findall(phrase))
            self._by_first.setdefault(words[0], []).append(words)
        self._beginnings = {word[:length] for word in self._by_first for length in range(1, len(word))}

    @override
    def find(self, text: str, *, last: bool) -> Verdict:
        return at_once(self.steps(text, last=last))

    @override
    def steps(self, text: str, *, last: bool) -> Steps:
        matches: list[re.Match[str]] = []
        words: list[str] = []
        for match in _WORD.finditer(text):
            yield
            matches.append(match)
            words.append(plain(match.group()))
        growing = bool(matches) and matches[-1].end() == len(text) and not last
        """True if the last word may still grow."""
        hold = 0
        for at, word in enumerate(words):
            yield
            for phrase in self._by_first.get(word, ()):
                rest = words[at : at + len(phrase) + 1]
                if len(rest) >= len(phrase) and tuple(rest[: len(phrase)]) == phrase:
                    if not (growing and len(rest) == len(phrase)):
                        return Verdict("phrases")
                elif not _begins(rest, phrase, growing):
                    continue
                if not last:
                    hold = max(hold, len(text) - matches[at].start())
        if growing and words[-1] in self._beginnings:
            hold = max(hold, len(text) - matches[-1].start())
        return Verdict(hold=hold) if hold else ALLOWED


def _begins(words: list[str], phrase: tuple[str, ...], growing: bool) -> bool:
    """True if `words` are the beginning of the phrase; the last one may be the beginning of a word."""
    if len(words) > len(phrase):
        return False
    whole = words[:-1] if growing else words
    if tuple(whole) != phrase[: len(whole)]:
        return False
    return not growing or phrase[len(whole)].startswith(words[-1])


class Topics:
    """A rule per topic, named as the operator named it."""

    def __init__(self, topics: Mapping[str, str | tuple[str, ...]]) -> None:
        self._patterns = [
            (name, re.compile(pattern, re.IGNORECASE))
            for name, patterns in topics.items()
            for pattern in ((patterns,) if isinstance(patterns, str) else patterns)
        ]

    def find(self, text: str, *, last: bool) -> Verdict:
        """See `Rule.find`. Nothing is held, because a regular expression does not say what a hit may begin with."""
        return next((Verdict(name) for name, pattern in self._patterns if pattern.search(text)), ALLOWED)
