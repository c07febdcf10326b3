"""Signs of a generation besides its text and calls: it pauses, or it goes on though no text comes. The stages between a language
model and the voice hold text back until they have read what follows; in a pause they pass on what they can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from voiceagent.llm.engine import Lull, Thought
from voiceagent.task_owner import running

LULL_S = 0.1
"""The shortest pause that counts."""
MOST_LULL_S = 0.4
USUAL_GAPS = 3
"""A slow model's pause counts from so many of its usual gaps on."""

LIFE_S = 1.0
"""The time between signs of life."""

Item = TypeVar("Item")


async def with_lulls(source: AsyncGenerator[Item, None]) -> AsyncGenerator[Item | Lull, None]:
    """The items of `source`, which is closed at the end, and a `Lull` in each gap after the first item that is longer than
    usual."""
    loop = asyncio.get_running_loop()
    usual_s = 0.0
    async with aclosing(source):
        item = await anext(source, None)
        while item is not None:
            yield item
            began_s = loop.time()
            async with running(_next(source), "next piece of a reply") as coming:
                lull_s = min(MOST_LULL_S, max(LULL_S, USUAL_GAPS * usual_s))
                if not (await asyncio.wait({coming}, timeout=lull_s))[0]:
                    yield Lull()
                item = await coming
            usual_s += (min(loop.time() - began_s, MOST_LULL_S) - usual_s) / 8


async def _next(source: AsyncGenerator[Item, None]) -> Item | None:
    return await anext(source, None)


class SignsOfLife:
    """Counts what a generation writes that is no text."""

    def __init__(self) -> None:
        self._told_s = asyncio.get_running_loop().time()
        self._pieces = 0

    def more(self) -> list[Thought]:
        """A piece was written. Returns a sign of life if one is due."""
        self._pieces += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_s < LIFE_S:
            return []
        pieces, self._told_s, self._pieces = self._pieces, now_s, 0
        return [Thought(pieces)]
