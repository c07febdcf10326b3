"""The interface of a guard, and its verdict."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

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


class Rule(Protocol):
    """One of the built-in guard's rules."""

    def find(self, text: str, *, last: bool) -> Verdict:
        """Decides whether `text` holds a hit, and how much of its end may be the beginning of one."""
        ...
