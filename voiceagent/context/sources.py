"""Sources of context and their entries under `context:` in agent.yaml, shared by all calls, and a call's questions to them. The
built-in source is the folder; a plugin is a function `create(options, base_dir) -> Source` under the entry point
`voiceagent.context`. The caller's words go in as they become stable; chunks come out as events of the turn engine as soon as
they are found. An answer waits for the chunks of the last words, but never for long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import msgspec
from typing_extensions import override

from voiceagent.context.index import ContextError, FolderIndex, index_file, terms
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk
from voiceagent.plugins import load_plugin

log = logging.getLogger(__name__)


class ContextEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One source: a folder, or a plugin by its name."""

    folder: str = ""
    """A folder of documents to index; relative to agent.yaml."""
    source: str = ""
    """A plugin: an entry point of the group `voiceagent.context`."""
    options: dict[str, object] = {}
    """Options for the plugin."""
    chunks: Annotated[int, msgspec.Meta(ge=1, le=20)] = 3
    """The most chunks that one query takes from it."""
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 500
    """Chunks that it has not found by then are not waited for."""

    def __post_init__(self) -> None:
        if bool(self.folder) == bool(self.source):
            raise ValueError("an entry of `context` names either `folder` or `source`")
        if self.folder and self.options:
            raise ValueError("options go with `source`; a folder has none")

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.folder or self.source


_Found = TypeVar("_Found")

MOST_TITLES = 200
"""The most headings of a folder that are told of."""
MAX_WAITING = 32
"""Queries that may wait for a folder's index; each takes a millisecond or two."""


class Source(Protocol):
    """A source of chunks."""

    def chunks(self, query: str) -> AsyncIterator[Chunk]:
        """Chunks about `query`, the caller's words so far, best first, as they are found. It is stopped at its deadline, or when
        it has given as many as are wanted. Raises ContextError."""
        ...


class FolderSource(Source):
    """A folder of documents, queried in a thread of its own."""

    def __init__(self, folder: Path, data_dir: Path, limit: int) -> None:
        """Open the index; a query gives at most `limit` chunks. Raises ConfigError."""
        self._limit = limit
        self._index = FolderIndex(folder, index_file(data_dir, folder))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="context")
        self._waiting = 0
        self.titles: tuple[str, ...] = ()
        """Headings of the documents, once the index is up to date."""

    async def open(self) -> None:
        """Bring the index up to date. Raises ContextError."""
        found = await self._run(self._index.refresh)
        self.titles = tuple(await self._run(lambda: self._index.titles(MOST_TITLES)))
        log.info(
            "context %s: %d documents in %d pieces (%d read, %d gone)",
            self._index.folder, found.documents, found.pieces, found.read, found.gone,
        )  # fmt: skip

    @override
    async def chunks(self, query: str) -> AsyncIterator[Chunk]:
        if self._waiting >= MAX_WAITING:
            raise ContextError(f"context {self._index.folder}: {MAX_WAITING} queries wait already; lower the number of calls")
        self._waiting += 1
        try:
            found = await self._run(lambda: self._index.search(query, self._limit))
        finally:
            self._waiting -= 1
        for chunk in found:
            yield chunk

    async def close(self) -> None:
        """Close the index."""
        await self._run(self._index.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], _Found]) -> _Found:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


@dataclass(frozen=True, slots=True)
class LimitedSource:
    """A source with its limits."""

    label: str
    source: Source
    chunks: int
    deadline_ms: float


class Sources:
    """All sources of an agent."""

    def __init__(self, asked: Sequence[LimitedSource] = (), count: Callable[[str], None] = lambda outcome: None) -> None:
        """`count` is called with the outcome of each query of a source: found, nothing, late or failed."""
        self.asked = tuple(asked)
        self.count = count

    @classmethod
    def from_config(
        cls,
        entries: Sequence[ContextEntry],
        base_dir: str,
        data_dir: Path,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> Sources:
        """The sources that agent.yaml names; folders are relative to `base_dir`. Raises ConfigError."""
        return cls([_asked(entry, base_dir, data_dir) for entry in entries], count)

    def __bool__(self) -> bool:
        return bool(self.asked)

    @property
    def titles(self) -> tuple[str, ...]:
        """Headings of the folders' documents."""
        return tuple(title for asked in self.asked if isinstance(asked.source, FolderSource) for title in asked.source.titles)

    async def open(self) -> None:
        """Bring the folders' indexes up to date. Raises ContextError."""
        for asked in self.asked:
            if isinstance(asked.source, FolderSource):
                await asked.source.open()

    async def close(self) -> None:
        """Free what the sources hold."""
        for asked in self.asked:
            if isinstance(asked.source, FolderSource):
                await asked.source.close()


def _asked(entry: ContextEntry, base_dir: str, data_dir: Path) -> LimitedSource:
    if entry.folder:
        source: Source = FolderSource(Path(base_dir) / entry.folder, data_dir, entry.chunks)
    else:
        source = load_plugin("context", entry.source, "context source")(entry.options, base_dir)
    return LimitedSource(entry.label, source, entry.chunks, entry.deadline_ms)


# --- the questions of a call ------------------------------------------------------------------------------------------

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

    def take_over(self, sources: Sources, timeout_ms: float) -> None:
        """Another agent goes on with the call: ask its sources."""
        self._sources, self._timeout_ms = sources, timeout_ms

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
