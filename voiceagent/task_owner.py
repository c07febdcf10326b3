"""Owners of tasks. Every task of the package is started here, or by a task group, and has ended when its owner has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class TaskOwner:
    """Starts tasks, and keeps them until they end or until `close`."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[object]] = set()

    def start(self, work: Coroutine[object, None, T], name: str) -> asyncio.Task[T]:
        """Run `work`. The caller takes its result and its error."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def start_alone(self, work: Coroutine[object, None, None], name: str) -> None:
        """Run `work`, for whose end nobody waits but `close`. Its error is logged."""
        self.start(work, name).add_done_callback(_log_error)

    def __len__(self) -> int:
        """The number of running tasks."""
        return sum(not task.done() for task in self._running)

    async def finished(self, timeout_s: float | None = None) -> None:
        """Wait until none runs any more, for at most `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while len(self):
                    await asyncio.wait(tuple(self._running))

    async def close(self, timeout_s: float | None = None) -> None:
        """Cancel what still runs, and wait for its end, for at most `timeout_s`. May be called twice."""
        tasks = tuple(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            ended, _ = await asyncio.wait(tasks, timeout=timeout_s)
            for task in ended:
                _take_error(task)


class Once:
    """Runs work once, for all who wait for it. One who waits no more does not end it."""

    def __init__(self, work: Callable[[], Coroutine[object, None, None]], name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Begin it, unless it has begun, and wait for its end. Raises what it raised."""
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name=self._name)
        await asyncio.shield(self._task)


@asynccontextmanager
async def running(work: Coroutine[object, None, T], name: str) -> AsyncIterator[asyncio.Task[T]]:
    """Run `work` beside the body, which takes its result and its error. When the body ends, it is cancelled and has ended."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
        _take_error(task)


def _take_error(task: asyncio.Task[T]) -> None:
    """Mark the error as taken, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the task %s broke", task.get_name(), exc_info=error)
