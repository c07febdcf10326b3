"""The built-in guard: the rules that an agent's settings switch on, checked one after the other, without waiting."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from typing_extensions import override

from voiceagent.guard.numbers import CardNumbers, PhoneNumbers
from voiceagent.guard.settings import GuardRules
from voiceagent.guard.verdict import ALLOWED, Guard, PausingRule, Rule, Steps, Verdict, at_once

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def plain(word: str) -> str:
    """A word without case, accents and apostrophes."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if letter.isalnum())


class BlockedPhrases(PausingRule, Rule):
    """The rule `phrases`. Phrases are compared word by word in a plain form, so a phrase is found however it is written and
    wherever tokens or clauses divide it. Text that may begin a phrase is held."""

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


_MARKED = re.compile(
    r"""
      \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                                   # AWS
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}   # GitHub
    | \bglpat-[A-Za-z0-9_-]{16,}                                      # GitLab
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                                 # Slack
    | \b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}                   # Stripe
    | \bsk-[A-Za-z0-9_-]{16,}                                         # OpenAI and others
    | \bAIza[0-9A-Za-z_-]{30,}                                        # Google
    | \bhf_[A-Za-z0-9]{20,} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
    | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}                    # SendGrid
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}    # JSON Web Token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----
    """,
    re.VERBOSE,
)
_CALLED = re.compile(
    r"\b(?:password|passphrase|passcode|secret(?:\s+key)?|api[\s_-]?key|access[\s_-]?key|auth(?:entication)?\s+token|bearer)\b"
    r"(?:\s+is|\s*[:=])?\s*[\"'`]?(?P<value>[^\s\"'`]{6,})",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?<![\w/+=.@-])[A-Za-z0-9+/_=-]{20,}(?![\w/+@-])")
LONGEST = 4096
CALLED_BITS = 2.5
RANDOM_BITS = 4.0
HEX_BITS = 3.0


def entropy_bits(text: str) -> float:
    """Shannon's entropy of the text's characters, in bits a character."""
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())


def _is_password(value: str) -> bool:
    """True if the text after the word "password" is a password, and not the rest of the sentence: it mixes kinds of
    characters."""
    value = value.rstrip(".,;:!?)")
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", r"\d", r"[^A-Za-z0-9'’-]"))
    return len(value) >= 6 and (kinds >= 2 and bool(re.search(r"[\d\W]", value))) and entropy_bits(value) >= CALLED_BITS


def _is_random(value: str) -> bool:
    """True if a long word is a key: hexadecimal, or letters of both cases and digits, without a pattern."""
    if re.fullmatch(r"[0-9a-fA-F]{32,}", value):
        return entropy_bits(value) >= HEX_BITS
    mixed = all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", r"\d"))
    return mixed and entropy_bits(value) >= RANDOM_BITS


class Secrets(Rule):
    """The rule `secrets`: keys that issuers mark by a prefix (as they publish it for secret scanning), private keys, words that
    follow "password", and strings so random that nobody would say them. Nothing is held: a clause ends with a complete word, so
    no part of a key is spoken before all of it is there."""

    @override
    def find(self, text: str, *, last: bool) -> Verdict:
        text = text[-LONGEST:]
        if _MARKED.search(text):
            return Verdict("secrets")
        if any(_is_password(match["value"]) for match in _CALLED.finditer(text)):
            return Verdict("secrets")
        if any(_is_random(match.group()) for match in _RANDOM.finditer(text)):
            return Verdict("secrets")
        return ALLOWED


class RuleGuard(Guard):
    """Checks text by an agent's rules. One for all calls."""

    def __init__(self, settings: GuardRules, code: str = "en") -> None:
        self._rules: list[Rule] = []
        if settings.secrets:
            self._rules.append(Secrets())
        if settings.cards:
            self._rules.append(CardNumbers(code))
        if settings.phones:
            self._rules.append(PhoneNumbers(settings.region, code))
        if settings.phrases:
            self._rules.append(BlockedPhrases(settings.phrases))
        if settings.topics:
            self._rules.append(Topics(settings.topics))

    def __bool__(self) -> bool:
        return bool(self._rules)

    @override
    def check_output(self, said: str, window: str, *, last: bool) -> Verdict:
        return at_once(self.output_steps(said, window, last=last))

    def output_steps(self, said: str, window: str, *, last: bool) -> Steps:
        """The steps of `check_output`, for checks that pause. The earlier text was allowed, so a hit in both together reaches
        into the window."""
        verdict = yield from self._steps(said + window, last=last)
        return Verdict(hold=min(verdict.hold, len(window))) if verdict.hold else verdict

    @override
    def check_input(self, text: str) -> Verdict:
        return at_once(self.input_steps(text))

    def input_steps(self, text: str) -> Steps:
        """The steps of `check_input`."""
        return self._steps(text, last=True)

    def _steps(self, text: str, *, last: bool) -> Steps:
        hold = 0
        for rule in self._rules:
            yield
            verdict = (yield from rule.steps(text, last=last)) if isinstance(rule, PausingRule) else rule.find(text, last=last)
            if verdict.blocked:
                return verdict
            hold = max(hold, verdict.hold)
        return Verdict(hold=hold)
