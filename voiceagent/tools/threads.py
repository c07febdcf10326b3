"""Threads for tools that are plain functions. A function cannot be ended from outside. A tool that exceeds its time keeps its
thread until it returns, and is counted until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

WORKERS = 8
MAX_WAITING = 24
"""Most functions that wait for a thread; more are refused."""


class TooManyRunning(Exception):
    """All threads are taken, and all places to wait for one."""


class Threads:
    """A bounded pool."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="tool")
        self._unfinished = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Run it off the event loop. Cancelling gives up waiting; a function that has begun goes on. Raises TooManyRunning."""
        if self._unfinished >= WORKERS + MAX_WAITING:
            raise TooManyRunning
        loop = asyncio.get_running_loop()
        self._unfinished += 1
        future = self._pool.submit(function)
        future.add_done_callback(lambda _: _from_thread(loop, self._ended))
        return await asyncio.wrap_future(future)

    def _ended(self) -> None:
        self._unfinished -= 1

    def close(self) -> None:
        """Let no further function begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _from_thread(loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(ended)
