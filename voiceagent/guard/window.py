"""The look-ahead window of one generation: text is held until a window of it was checked; only then is it spoken."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.guard.checks import Checks
from voiceagent.guard.verdict import ALLOWED, Verdict

REMEMBERED = 400
"""Number of characters of the earlier text that are checked together with a window."""
MOST_HELD = 2000
"""The most characters that wait, even if a guard asks for more."""
_CLAUSE_END = re.compile(r"[.!?…,;:—–][\"')\]”’»]*\s|\n")
"""Matches wherever the turn engine may end a clause, so that no clause waits for more than its own text."""
_ENDED = re.compile(r"[.!?…,;:—–][\"')\]”’»]*\s*\Z")


@dataclass(frozen=True, slots=True)
class WindowCheck:
    """The result of a check."""

    text: str
    """The text that may be spoken; empty when the verdict is a hit, or when all of it is held."""
    tokens: int
    """Number of pieces of the language model's output in it."""
    held_ms: float
    """Wait of the first of these pieces."""
    guard_ms: float
    """Duration of the check, including earlier checks after which all text was held."""
    verdict: Verdict


class OutputWindow:
    """The window of one reply; its generations follow one another."""

    def __init__(self, checks: Checks, tokens: int, asked: Callable[[str, bool], object] = lambda text, last: None) -> None:
        """`asked` is told the text about which plugins are asked, and true if no text follows it."""
        self._checks = checks
        self._most = tokens
        self._asked = asked
        self._said = ""
        self._held = ""
        self._tokens = 0
        self._fresh = 0
        """Tokens that came after the last check."""
        self._due = False
        """True once a check is due, which waits only for text that has come already."""
        self._since = 0.0
        self._spent_ms = 0.0
        """Time spent on checks after which all text was held."""

    async def add(self, text: str, *, more: bool = False) -> WindowCheck | None:
        """Take a piece of the language model's output; the piece is empty where it was markup. `more`: the next piece is here
        already, and joins the window. Returns the text that may be spoken, or None while the window is open."""
        if not text:
            self._tokens += 1
            return None
        if not self._checks:
            tokens, self._tokens = self._tokens + 1, 0
            return WindowCheck(text, tokens, 0.0, 0.0, ALLOWED)
        if not self._held:
            self._since = time.perf_counter()
        waiting = bool(self._held) and self._fresh == 0  # held until the very next piece
        seam = self._held[-4:] + text
        self._held += text
        self._tokens += 1
        self._fresh += 1
        self._due = self._due or waiting or self._fresh >= self._most or bool(_CLAUSE_END.search(seam))
        if self._due and (not more or len(self._held) > MOST_HELD):
            return await self._check(last=False)
        return None

    async def pause(self) -> WindowCheck | None:
        """No text follows for now. Returns what may be spoken of a clause that has ended. The beginning of a number waits: its
        rest may come."""
        return await self._check(last=False, paused=True) if self._due or _ENDED.search(self._held) else None

    async def finish(self) -> WindowCheck | None:
        """No text follows in this generation. Returns what may be spoken of the rest, or None when there is none."""
        return await self._check(last=True) if self._held else None

    async def _check(self, *, last: bool, paused: bool = False) -> WindowCheck:
        began = time.perf_counter()
        verdict = await self._checks.output(self._said, self._held, last=last, asked=lambda text: self._asked(text, last))
        now = time.perf_counter()
        held_ms, guard_ms = (now - self._since) * 1000, self._spent_ms + (now - began) * 1000
        self._fresh, self._due = 0, False
        if verdict.blocked:
            self._held, self._tokens = "", 0
            return WindowCheck("", 0, held_ms, guard_ms, verdict)
        keep = 0 if last or len(self._held) > MOST_HELD else min(verdict.hold, len(self._held))
        if paused and not any(map(str.isdigit, self._held[len(self._held) - keep :])):
            keep = 0
        text, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        kept = 1 if keep else 0  # only the sum of tokens matters, so what is kept counts as one
        tokens, self._tokens = self._tokens - kept, kept
        self._said = _end_of(self._said + text)
        self._since, self._spent_ms = now, 0.0 if text else guard_ms
        return WindowCheck(text, tokens, held_ms, guard_ms, verdict)


def _end_of(said: str) -> str:
    """Returns the remembered end of the earlier text: complete words, because the end of a word may be another word."""
    if len(said) <= REMEMBERED:
        return said
    first, _, rest = said[-REMEMBERED:].partition(" ")
    return rest or first
