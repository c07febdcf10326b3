"""How long what runs on this event loop holds it, callback by callback."""

from __future__ import annotations

import asyncio
import asyncio.events
import gc
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

LIMIT_MS = 5.0
"""Longer than this nothing may hold the event loop that carries all calls' audio."""


class LoopTime:
    """What was measured."""

    def __init__(self) -> None:
        self.longest_ms = 0.0


@contextmanager
def loop_time() -> Iterator[LoopTime]:
    """Measures, by the thread's own CPU time: what waits because other programs compute is no fault of the code under test, and
    neither is what other tests have imported: the garbage collector looks only at what comes now."""
    gc.collect()
    gc.freeze()
    handle = asyncio.events.Handle
    run, found = handle._run, LoopTime()

    def timed(self: asyncio.Handle) -> None:
        began_s = time.thread_time()
        run(self)
        found.longest_ms = max(found.longest_ms, (time.thread_time() - began_s) * 1000.0)

    handle._run = timed  # type: ignore[method-assign]  # asyncio has no hook around a callback
    try:
        yield found
    finally:
        handle._run = run  # type: ignore[method-assign]  # as it was
        gc.unfreeze()


async def held_ms(work: Callable[..., Coroutine[Any, Any, object]], *arguments: object, **named: object) -> float:
    """How long a call of this holds the loop, at best of three: the first may import, any may collect garbage."""
    found = []
    for _ in range(3):
        with loop_time() as time_:
            await asyncio.create_task(work(*arguments, **named))
        found.append(time_.longest_ms)
    return min(found)
