"""A stream's pauses, and its signs of life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from voiceagent.llm.engine import Lull
from voiceagent.llm.lulls import with_lulls


async def test_a_pause_is_told_once_and_nothing_is_lost() -> None:
    goes_on = asyncio.Event()

    async def source() -> AsyncGenerator[str, None]:
        yield "a"
        yield "b"
        await goes_on.wait()
        yield "c"

    found: list[str | Lull] = []
    async with aclosing(with_lulls(source())) as items:
        async for item in items:
            found.append(item)
            if isinstance(item, Lull):
                goes_on.set()
    assert found == ["a", "b", Lull(), "c"]


async def test_leaving_in_a_pause_closes_the_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[str, None]:
        try:
            yield "a"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with aclosing(with_lulls(source())) as items:
        assert [await anext(items), await anext(items)] == ["a", Lull()]
    assert closed.is_set()
