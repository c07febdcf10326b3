"""The interface of a guard and of its rules, their verdict, and checks that pause: a rule that searches a long text yields now
and then, so that the event loop can serve other calls' audio in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from voiceagent.errors import VoiceAgentError


class GuardError(VoiceAgentError):
    """A guard cannot be loaded, or a check of it failed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allowed, or blocked by a rule."""

    rule: str = ""
    """The name of the rule that was hit; empty: none was."""
    line: str = ""
    """The line to say instead; empty: the configured line."""
    hold: int = 0
    """Number of characters at the window's end that may be the beginning of a hit, so they wait for the text behind them. In the
    last window nothing is held."""

    @property
    def blocked(self) -> bool:
        """True if a rule was hit."""
        return bool(self.rule)


ALLOWED = Verdict()


class Guard(Protocol):
    """Checks text. The built-in guard answers at once; a plugin may answer later (`async`), within its deadline."""

    def check_output(self, said: str, window: str, *, last: bool) -> Verdict | Awaitable[Verdict]:
        """Decides whether `window` may be spoken after `said`, the reply's text so far (its last few hundred characters), which
        was allowed. `last`: no text follows the window. Raises GuardError."""
        ...

    def check_input(self, text: str) -> Verdict | Awaitable[Verdict]:
        """Decides whether the language model may read `text`, an utterance of the caller. Raises GuardError."""
        ...


@runtime_checkable
class ClosingGuard(Protocol):
    """A guard that holds connections."""

    async def close(self) -> None:
        """Close them: the server stops."""
        ...


class Rule(Protocol):
    """One of the built-in guard's rules."""

    def find(self, text: str, *, last: bool) -> Verdict:
        """Decides whether `text` holds a hit, and how much of its end may be the beginning of one."""
        ...


Steps = Generator[None, None, Verdict]
"""Yields where a check may pause; its value is the verdict."""

Found = TypeVar("Found")

MOMENT_S = 0.001
"""Longest time for which a check may hold the event loop at once, in seconds."""


@runtime_checkable
class PausingRule(Protocol):
    """A rule that may take longer than a moment."""

    def steps(self, text: str, *, last: bool) -> Steps:
        """See `Rule.find`, which gives the same verdict."""
        ...


def at_once(steps: Generator[None, None, Found]) -> Found:
    """Returns the result of the steps, without pauses."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: Found = done.value
            return found


async def in_moments(steps: Steps) -> Verdict:
    """The verdict, with a pause after each moment."""
    until_s = time.perf_counter() + MOMENT_S
    while True:
        try:
            next(steps)
        except StopIteration as done:
            verdict: Verdict = done.value
            return verdict
        if time.perf_counter() > until_s:
            await asyncio.sleep(0)
            until_s = time.perf_counter() + MOMENT_S
