"""A call's questions to its sources: when they are asked, and what comes of slow and broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from voiceagent.context.sources import ContextEntry, LimitedSource, Retrieval, Sources
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk
from voiceagent.errors import ConfigError


class Slow:
    """Gives its chunks one by one, when it is let; made to be late on purpose."""

    def __init__(self, *chunks: str) -> None:
        self.let = asyncio.Semaphore(0)
        self.texts = chunks
        self.queries: list[str] = []
        self.given = asyncio.Event()
        self.stopped = asyncio.Event()

    async def chunks(self, query: str) -> AsyncIterator[Chunk]:
        self.queries.append(query)
        try:
            for text in self.texts:
                await self.let.acquire()
                yield Chunk("slow", text)
                self.given.set()
        finally:
            self.stopped.set()


class Broken:
    def chunks(self, query: str) -> AsyncIterator[Chunk]:
        raise RuntimeError("no such host")


Asking = Callable[..., tuple[Retrieval, list[ev.Event], list[str]]]


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    """A retrieval over given sources, its events, and what was counted."""
    tasks: list[asyncio.Task[None]] = []

    def start(owner: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.ensure_future(work))
        return tasks[-1]

    def make(*sources: Any, timeout_ms: float = 30, deadline_ms: float = 5000) -> tuple[Retrieval, list[ev.Event], list[str]]:
        events: list[ev.Event] = []
        counted: list[str] = []
        asked = [LimitedSource("test", source, 2, deadline_ms) for source in sources]
        return Retrieval(Sources(asked, counted.append), timeout_ms, lambda: 1.0, start, events.append), events, counted

    yield make
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def found(events: list[ev.Event]) -> list[str]:
    return [chunk.text for event in events if isinstance(event, ev.ContextFound) for chunk in event.chunks]


async def test_sources_are_asked_when_the_words_tell_enough_more(asking: Asking) -> None:
    source = Slow()
    retrieval, _, _ = asking(source)
    for stable in ("", "Can you", "Can you tell me the breakfast", "Can you tell me the breakfast times for"):
        retrieval.hear(ev.Transcript(0, 1, stable, "x"))
    await retrieval.settle(1, "Can you tell me the breakfast times for Sunday?")
    await retrieval.settle(1, "Can you tell me the breakfast times for Sunday")
    assert source.queries == ["Can you tell me the breakfast times for", "Can you tell me the breakfast times for Sunday?"]


async def test_chunks_are_given_on_as_they_come_and_no_more_than_wanted(asking: Asking) -> None:
    source = Slow("one", "two", "three")
    retrieval, events, counted = asking(source, timeout_ms=5000)
    source.let.release()
    waiting = asyncio.ensure_future(retrieval.settle(1, "breakfast"))
    await source.given.wait()
    assert found(events) == ["one"]
    source.let.release()
    await waiting
    assert found(events) == ["one", "two"]
    assert source.stopped.is_set()
    assert counted == ["found"]


async def test_an_answer_does_not_wait_for_a_slow_source(asking: Asking) -> None:
    source = Slow("late")
    retrieval, events, _ = asking(source, timeout_ms=1)
    await asyncio.wait_for(retrieval.settle(1, "breakfast"), 5)
    assert not events
    assert not source.stopped.is_set(), "what comes later may still help the next words"


async def test_a_source_that_breaks_or_is_late_costs_only_itself(asking: Asking) -> None:
    quick, late = Slow("here"), Slow("never")
    quick.let.release()
    retrieval, events, counted = asking(Broken(), late, quick, timeout_ms=5000, deadline_ms=20)
    await retrieval.settle(1, "breakfast")
    assert found(events) == ["here"]
    assert sorted(counted) == ["failed", "found", "late"]
    assert late.stopped.is_set()


async def test_without_sources_nothing_is_asked(asking: Asking) -> None:
    retrieval, events, _ = asking()
    retrieval.hear(ev.Transcript(0, 1, "breakfast times", ""))
    await retrieval.settle(1, "breakfast times")
    assert await retrieval.find("breakfast") == ()
    assert not events


async def test_a_folder_answers_a_typed_message(asking: Asking, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hotel.md").write_text("# Breakfast\nFrom seven to ten.")
    sources = Sources.from_config([ContextEntry(folder="docs")], str(tmp_path), tmp_path / "data")
    await sources.open()
    retrieval, _, _ = asking(sources.asked[0].source, timeout_ms=5000)
    assert await retrieval.find("When is breakfast?") == (Chunk("hotel.md: Breakfast", "From seven to ten."),)
    await sources.close()


def test_an_unknown_plugin_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no context source 'wiki'"):
        Sources.from_config([ContextEntry(source="wiki")], ".", tmp_path)
