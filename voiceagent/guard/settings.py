"""The `guard:` part of `agent.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

MAX_RULES = 1000

Patterns = str | tuple[str, ...]


class PluginSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A guard of another package."""

    name: str
    """Its name under the entry point `voiceagent.guard`; `nemo` is part of this project."""
    options: Mapping[str, object] = {}
    """Passed to the plugin unchanged."""
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 500
    """Longest duration of a check."""
    if_late: Literal["block", "allow"] = "block"
    """The verdict for a check that took longer, or failed."""


class GuardRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The checks of one direction."""

    secrets: bool = False
    """API keys, tokens, private keys and passwords."""
    cards: bool = False
    """Payment card numbers, also spelt out."""
    phones: bool = False
    """Telephone numbers, also spelt out."""
    region: str = "US"
    """The region whose national telephone numbers are known besides international ones: ISO 3166-1, such as `US`."""
    phrases: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_RULES)] = ()
    """Blocked words and phrases; case, accents and punctuation do not matter."""
    topics: Mapping[str, Patterns] = {}
    """Regular expressions (Python's, case does not matter) for topics that must not be talked about, by the topic's name."""
    plugins: Annotated[tuple[PluginSettings, ...], msgspec.Meta(max_length=8)] = ()
    line: str = ""
    """Said instead of blocked text."""
    lines: Mapping[str, str] = {}
    """Lines said instead of `line`, by rule (`cards`, a topic's name …)."""

    def __post_init__(self) -> None:
        for name, patterns in self.topics.items():
            for pattern in (patterns,) if isinstance(patterns, str) else patterns:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise ValueError(f"topic {name}: {pattern!r:.80} is no regular expression ({error})") from error
        for phrase in self.phrases:
            if not re.search(r"\w", phrase):
                raise ValueError(f"the phrase {phrase!r:.80} holds no letter or digit; expected words")
        if not re.fullmatch(r"[A-Z]{2}", self.region):
            raise ValueError(f"region is {self.region!r:.20}; expected two capital letters such as US")


class OutputRules(GuardRules, frozen=True, forbid_unknown_fields=True):
    """The checks of the agent's replies."""

    secrets: bool = True
    cards: bool = True


class GuardSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The checks of text before it is spoken, and before the language model reads it."""

    output: OutputRules = OutputRules()
    input: GuardRules = GuardRules()
    window_tokens: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12
    """Number of tokens checked at once, or one clause where that is less."""
