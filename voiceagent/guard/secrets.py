"""Secrets in text: keys that issuers mark by a prefix, private keys, words that follow "password", and strings so random that
nobody would say them. The prefixes are those that the issuers publish for secret scanning."""

from __future__ import annotations

import math
import re
from collections import Counter

from typing_extensions import override

from voiceagent.guard.verdict import ALLOWED, Rule, Verdict

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
    """The rule `secrets`. Nothing is held: a clause ends with a complete word, so no part of a key is spoken before all of it is
    there."""

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
