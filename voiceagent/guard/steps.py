"""Checks that pause. A rule that searches a long text yields now and then, so that the event loop can serve other calls' audio in
between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import Protocol, TypeVar, runtime_checkable

from voiceagent.guard.verdict import Verdict

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
