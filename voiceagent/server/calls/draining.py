"""Draining: the server takes no new calls, and its calls end by themselves. When the last has ended, the server has nothing left
to do. A server can thus be updated without cutting off anybody's call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from voiceagent.server.calls.calls import Calls
from voiceagent.server.http.problems import Problem

log = logging.getLogger(__name__)

DRAIN_TIMEOUT_S = 600.0
RETRY_AFTER_S = 5
"""The time within which the client's next request reaches another server, or the one that takes this one's place."""


class Draining:
    """Refuses calls once it has begun, and knows when the last has ended. Make it inside the event loop."""

    def __init__(self, calls: Calls, timeout_s: float = DRAIN_TIMEOUT_S) -> None:
        """Calls that are still up after `timeout_s` are not waited for."""
        self.timeout_s = timeout_s
        self._calls = calls
        self._begun = asyncio.Event()
        self._offers = 0
        self._no_offer = asyncio.Event()
        self._no_offer.set()

    @property
    def reason(self) -> str:
        """The reason for which no call is answered; empty while calls are."""
        return "The server is draining: it ends when its calls have." if self._begun.is_set() else ""

    def begin(self) -> None:
        """Take no new calls. May be called again."""
        if not self._begun.is_set():
            log.warning("draining: %d calls are up; those that are in %g s are ended", len(self._calls), self.timeout_s)
            self._begun.set()
            self._calls.tell_draining(self.timeout_s)

    @contextmanager
    def offer(self) -> Iterator[None]:
        """An offer is being answered, and draining waits for its call. Raises Problem (503) once draining has begun."""
        if self._begun.is_set():
            message = "The server takes no new calls, as it is about to end; call again in a moment."
            raise Problem(503, "draining", message, retry_after_s=RETRY_AFTER_S)
        self._offers += 1
        self._no_offer.clear()
        try:
            yield
        finally:
            self._offers -= 1
            if not self._offers:
                self._no_offer.set()

    async def wait(self) -> None:
        """Return when draining has begun and the last call has ended, or has had its time."""
        await self._begun.wait()
        try:
            async with asyncio.timeout(self.timeout_s):
                await self._no_offer.wait()
                await self._calls.over()
        except TimeoutError:
            log.warning("draining: %d calls are still up after %g s and are ended", len(self._calls), self.timeout_s)
