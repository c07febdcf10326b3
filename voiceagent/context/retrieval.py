"""A call's questions to its sources. The caller's words go in as they become stable; chunks come out as events of the turn engine
as soon as they are found. An answer waits for the chunks of the last words, but never for long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

from voiceagent.context.index import terms
from voiceagent.context.sources import LimitedSource, Sources
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk

log = logging.getLogger(__name__)

OWNER = "context"
NEW_TERMS = 2
"""While the caller speaks, a new query needs this many telling words more than the last one."""
MAX_QUERIES = 4
"""Most queries of a call at a time. While they run, new words start no further query."""

Start = Callable[[str, Coroutine[object, None, None]], asyncio.Task[None]]
"""Runs a task until it ends or its owner, the call, does."""


class Retrieval:
    """One per call."""

    def __init__(
        self, sources: Sources, timeout_ms: float, now_ms: Callable[[], float], start: Start, post: Callable[[ev.Event], None]
    ) -> None:
        """`timeout_ms` is the longest that an answer waits for the last query."""
        self._sources = sources
        self._timeout_ms = timeout_ms
        self._now_ms = now_ms
        self._start = start
        self._post = post
        self._utterance_id = -1
        self._asked: frozenset[str] = frozenset()
        self._running = 0

    def hear(self, event: ev.Transcript) -> None:
        """The open utterance has these words: ask if they tell more than before."""
        if self._news(event.utterance_id, event.stable) >= NEW_TERMS:
            self._ask(event.utterance_id, event.stable)

    async def settle(self, utterance_id: int, words: str) -> None:
        """The utterance's words are known: ask with the new words, and wait a moment for what is found."""
        if self._news(utterance_id, words):
            task = self._ask(utterance_id, words)
            if task is not None:
                await asyncio.wait([task], timeout=self._timeout_ms / 1000)

    async def find(self, words: str) -> tuple[Chunk, ...]:
        """Chunks found for a typed message within the same time."""
        found: list[Chunk] = []
        if self._sources and terms(words):
            task = self._start(OWNER, self._query(words, found.append))
            await asyncio.wait([task], timeout=self._timeout_ms / 1000)
        return tuple(found)

    def _news(self, utterance_id: int, words: str) -> int:
        if not self._sources:
            return 0
        if utterance_id != self._utterance_id:
            self._utterance_id, self._asked = utterance_id, frozenset()
        return len(set(terms(words)) - self._asked)

    def _ask(self, utterance_id: int, words: str) -> asyncio.Task[None] | None:
        if self._running >= MAX_QUERIES:
            self._sources.count("busy")
            return None
        self._asked = frozenset(terms(words))

        def found(chunk: Chunk) -> None:
            self._post(ev.ContextFound(self._now_ms(), utterance_id, (chunk,)))

        return self._start(OWNER, self._query(words, found))

    async def _query(self, words: str, found: Callable[[Chunk], None]) -> None:
        self._running += 1
        try:
            await asyncio.gather(*(self._query_one(asked, words, found) for asked in self._sources.asked))
        finally:
            self._running -= 1

    async def _query_one(self, asked: LimitedSource, words: str, found: Callable[[Chunk], None]) -> None:
        count = 0
        try:
            async with asyncio.timeout(asked.deadline_ms / 1000), _closing(asked.source.chunks(words)) as chunks:
                async for chunk in chunks:
                    found(chunk)
                    count += 1
                    if count >= asked.chunks:
                        break
        except TimeoutError:
            log.warning("context %s: had not found all within %d ms", asked.label, asked.deadline_ms)
            self._sources.count("late")
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the answer is given without it
            log.warning("context %s: failed (%s: %s)", asked.label, type(error).__name__, error)
            self._sources.count("failed")
        else:
            self._sources.count("found" if count else "nothing")


@asynccontextmanager
async def _closing(chunks: AsyncIterator[Chunk]) -> AsyncIterator[AsyncIterator[Chunk]]:
    """A source's answer, stopped at the end if it is a generator."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
