"""Learns from an agent's past calls: how long each tool takes, and with which words callers ask for what. It is kept in memory
only, and bounded. Words are kept as patterns that leave out what callers filled in. A value that the caller did not say just then
is kept only if the tool's schema names it as a choice (a kind, a unit); any other value may be private to an earlier caller."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voiceagent.conversation.history import read_arguments

MAX_PATTERNS = 500
SURE_AFTER = 2
"""A pattern predicts from the second time on."""
SURE_WORDS = 3
"""If nothing is filled in in a sentence, this many of its words must have been heard."""
MAX_SLOT_WORDS = 4
WEIGHT = 0.3
"""The weight of a tool's latest run in its typical time."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a pattern where the caller fills in an argument."""

    argument: str
    is_number: bool
    words: int


Pattern = tuple[str | Slot, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """How an utterance's words so far fit a pattern."""

    words: int
    """How many of them are in the pattern."""
    arguments: dict[str, Any] | None
    """The values that the caller filled in; None while some of them are still to come."""


class ToolPredictor:
    """One per agent, for all its calls."""

    def __init__(self) -> None:
        self._typical_ms: dict[str, float] = {}
        self._patterns: OrderedDict[tuple[Pattern, str, str], int] = OrderedDict()
        """How often each pattern was seen. Its key is the words, the tool, and the arguments that are choices of the schema."""

    def took(self, name: str, ms: float) -> None:
        """A run of a tool ended."""
        before = self._typical_ms.get(name, ms)
        self._typical_ms[name] = before + WEIGHT * (ms - before)

    def typical_ms(self, name: str) -> float:
        """How long the tool's runs take; 0 while none is known."""
        return self._typical_ms.get(name, 0.0)

    def learn(self, said: str, name: str, arguments: str, parameters: Mapping[str, Any]) -> None:
        """The caller's words led to that call of a tool with the JSON schema `parameters`. Two cases teach nothing: none of the
        arguments is in the words, because the call was about what had been said before; or one is neither in the words nor a
        choice of the schema."""
        given = read_arguments(arguments)
        if given is None:
            return
        pattern, unsaid = _pattern(_words(said), given)
        if given and not any(isinstance(part, Slot) for part in pattern):
            return
        if not all(_is_choice(value, parameters.get("properties", {}).get(argument)) for argument, value in unsaid.items()):
            return
        key = (pattern, name, json.dumps(unsaid, sort_keys=True))
        self._patterns[key] = self._patterns.pop(key, 0) + 1
        while len(self._patterns) > MAX_PATTERNS:
            self._patterns.popitem(last=False)

    def predict(self, words: str) -> tuple[str, str] | None:
        """The tool and the arguments that an utterance with this beginning will lead to. Of the patterns whose arguments are all
        there, the one that fits most words counts. If there is none, and all patterns that still fit lead to the same call, it is
        that call."""
        heard = _words(words)
        fits = [
            (fit, name, choices)
            for (pattern, name, choices), count in reversed(self._patterns.items())
            if count >= SURE_AFTER and (fit := _fit(pattern, heard)) is not None
        ]
        filled = [found for found in fits if found[0].arguments]
        if filled:
            fit, name, choices = max(filled, key=lambda found: found[0].words)
            return name, json.dumps(json.loads(choices) | fit.arguments)
        calls = {(name, choices) for _, name, choices in fits}
        if len(calls) == 1 and len(heard) >= SURE_WORDS and all(fit.arguments is not None for fit, _, _ in fits):
            return calls.pop()
        return None


def _words(text: str) -> list[str]:
    bare = ("".join(character for character in word if character.isalnum() or character in ":'") for word in text.split())
    return [word for word in bare if word]


def _pattern(said: Sequence[str], arguments: dict[str, Any]) -> tuple[Pattern, dict[str, Any]]:
    """The utterance with a slot for every argument whose words are in it, and the arguments whose words are not."""
    parts: list[str | Slot] = [word.casefold() for word in said]
    unsaid: dict[str, Any] = {}
    for argument, value in arguments.items():
        words = [word.casefold() for word in _words(str(value))]
        starts = range(len(parts) - len(words) + 1)
        start = next((i for i in starts if parts[i : i + len(words)] == words), None) if words else None
        if start is None or len(words) > MAX_SLOT_WORDS:
            unsaid[argument] = value
        else:
            parts[start : start + len(words)] = [Slot(argument, not isinstance(value, str), len(words))]
    return tuple(parts), unsaid


def _is_choice(value: Any, schema: Any) -> bool:
    """Whether the schema of an argument names the value."""
    if not isinstance(schema, Mapping):
        return False
    if any(type(choice) is type(value) and choice == value for choice in schema.get("enum", ())):
        return True
    return any(_is_choice(value, one) for kind in ("anyOf", "oneOf") for one in schema.get(kind, ()))


def _fit(pattern: Pattern, heard: Sequence[str]) -> Fit | None:
    """How the words fit the pattern up to its last slot, or the whole pattern if it has none; None where they do not fit."""
    filled: dict[str, Any] = {}
    last = max((index for index, part in enumerate(pattern) if isinstance(part, Slot)), default=-1)
    at = 0
    for part in pattern[: last + 1] or pattern:
        words = heard[at : at + part.words] if isinstance(part, Slot) else heard[at : at + 1]
        if not words:
            return Fit(at, None if last >= 0 else {})
        at += len(words)
        if not isinstance(part, Slot):
            if words[0].casefold() != part:
                return None
        elif part.is_number and not words[0].isdecimal():  # "²" is a digit, but no number
            return None
        elif len(words) < part.words:
            return Fit(at, None)
        else:
            filled[part.argument] = int(words[0]) if part.is_number else " ".join(words)
    return Fit(at, filled) if last >= 0 or at == len(heard) else None
