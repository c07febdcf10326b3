"""What an agent's past calls teach about its next ones: how long each tool takes, and with which words callers ask for what. In
memory only, and bounded; words are kept as patterns, with what callers filled in left out. An argument that nobody said (a kind,
a unit; or a caller's own number, from before) goes from call to call only once two calls had the same."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from voiceagent.conversation.history import read_arguments

MAX_PATTERNS = 500
SURE_AFTER = 2
"""A pattern predicts from the second time on."""
SURE_WORDS = 3
"""Of a sentence in which nothing is filled in, so many words must have been heard."""
MAX_SLOT_WORDS = 4
NOTHING = "{}"
WEIGHT = 0.3
"""Of a tool's latest run in its typical time."""


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
    """So many of them stand in it."""
    arguments: dict[str, Any] | None
    """What the caller filled in; None while some of it is still to come."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """How a pattern was learned."""

    count: int = 0
    calls: tuple[str, ...] = ()
    """The first that taught it."""

    def again(self, call_id: str) -> Lesson:
        """It was taught once more."""
        is_new = call_id not in self.calls and len(self.calls) < SURE_AFTER
        return Lesson(self.count + 1, (*self.calls, call_id) if is_new else self.calls)

    def is_for(self, call_id: str, fixed: str) -> bool:
        """Whether it predicts in a call, with `fixed` besides what is filled in."""
        return self.count >= SURE_AFTER and (fixed == NOTHING or len(self.calls) >= SURE_AFTER or call_id in self.calls)


class Foresight:
    """One per agent, for all its calls."""

    def __init__(self) -> None:
        self._typical_ms: dict[str, float] = {}
        self._patterns: OrderedDict[tuple[Pattern, str, str], Lesson] = OrderedDict()

    def took(self, name: str, ms: float) -> None:
        """A run of a tool ended."""
        before = self._typical_ms.get(name, ms)
        self._typical_ms[name] = before + WEIGHT * (ms - before)

    def typical_ms(self, name: str) -> float:
        """How long the tool's runs take; 0 while none is known."""
        return self._typical_ms.get(name, 0.0)

    def learn(self, call_id: str, said: str, name: str, arguments: str) -> None:
        """In a call the caller's words led to that tool call. Where none of its arguments stands in them they teach nothing: it
        was about what had been said before."""
        given = read_arguments(arguments)
        if given is None:
            return
        pattern, fixed = _pattern(_words(said), given)
        if given and not any(isinstance(part, Slot) for part in pattern):
            return
        key = (pattern, name, json.dumps(fixed, sort_keys=True))
        self._patterns[key] = self._patterns.pop(key, Lesson()).again(call_id)
        while len(self._patterns) > MAX_PATTERNS:
            self._patterns.popitem(last=False)

    def predict(self, call_id: str, words: str) -> tuple[str, str] | None:
        """The tool and the arguments that a call's utterance which has begun like this will lead to: of patterns whose arguments
        are all there, that which fits most words; else the call that all it may still become leads to."""
        heard = _words(words)
        fits = [
            (fit, name, fixed)
            for (pattern, name, fixed), lesson in reversed(self._patterns.items())
            if lesson.is_for(call_id, fixed) and (fit := _fit(pattern, heard)) is not None
        ]
        filled = [found for found in fits if found[0].arguments]
        if filled:
            fit, name, fixed = max(filled, key=lambda found: found[0].words)
            return name, json.dumps(json.loads(fixed) | fit.arguments)
        calls = {(name, fixed) for _, name, fixed in fits}
        if len(calls) == 1 and len(heard) >= SURE_WORDS and all(fit.arguments is not None for fit, _, _ in fits):
            return calls.pop()
        return None


def _words(text: str) -> list[str]:
    bare = ("".join(character for character in word if character.isalnum() or character in ":'") for word in text.split())
    return [word for word in bare if word]


def _pattern(said: Sequence[str], arguments: dict[str, Any]) -> tuple[Pattern, dict[str, Any]]:
    """The utterance with a slot for every argument whose words stand in it; the arguments that do not stand in it."""
    parts: list[str | Slot] = [word.casefold() for word in said]
    fixed: dict[str, Any] = {}
    for argument, value in arguments.items():
        words = [word.casefold() for word in _words(str(value))]
        starts = range(len(parts) - len(words) + 1)
        start = next((i for i in starts if parts[i : i + len(words)] == words), None) if words else None
        if start is None or len(words) > MAX_SLOT_WORDS:
            fixed[argument] = value
        else:
            parts[start : start + len(words)] = [Slot(argument, not isinstance(value, str), len(words))]
    return tuple(parts), fixed


def _fit(pattern: Pattern, heard: Sequence[str]) -> Fit | None:
    """How the words fit the pattern up to its last slot, or all of it where it has none; None where they do not."""
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
