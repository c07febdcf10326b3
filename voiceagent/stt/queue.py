"""The queue in front of a recogniser's worker threads. Finals go first; a partial that had to wait behind too much is
dropped, because a newer one of the same call is on its way; a job whose asker has gone is never run."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from voiceagent.errors import EngineError
from voiceagent.stt.engine import DecodeDropped

T = TypeVar("T")
MAX_PARTIALS = 16
MAX_FINALS = 64

Job = tuple[Future[T], Callable[[], T]]


class DecodeQueue(Generic[T]):
    """Worker threads that run decodes, finals before partials."""

    def __init__(self, workers: int = 1) -> None:
        self.dropped_partials = 0
        self._finals: deque[Job[T]] = deque()
        self._partials: deque[Job[T]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"stt-{i}", daemon=True) for i in range(workers)]
        for thread in self._threads:
            thread.start()

    async def run(self, decode: Callable[[], T], *, final: bool) -> T:
        """Run `decode` in a worker and return its result. Cancelling takes a waiting job out of the queue. Raises DecodeDropped
        for a partial that made room for others, EngineError when too many finals wait or the queue is closed."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise EngineError("the speech recogniser is closed")
            self._forget_cancelled()
            if final and len(self._finals) >= MAX_FINALS:
                raise EngineError(f"the speech recogniser is overloaded: {MAX_FINALS} decodes wait; lower the number of calls")
            if not final and len(self._partials) >= MAX_PARTIALS:
                self._drop(self._partials.popleft()[0])
            (self._finals if final else self._partials).append((future, decode))
            self._changed.notify()
        return await asyncio.wrap_future(future)

    @property
    def waiting(self) -> int:
        """Jobs that no worker has taken yet."""
        return len(self._finals) + len(self._partials)

    async def close(self) -> None:
        """Drop what waits and let the workers finish what they do."""
        with self._changed:
            self._closed = True
            for future, _ in [*self._finals, *self._partials]:
                self._drop(future)
            self._finals.clear()
            self._partials.clear()
            self._changed.notify_all()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _drop(self, future: Future[T]) -> None:
        if future.set_running_or_notify_cancel():
            self.dropped_partials += 1
            future.set_exception(DecodeDropped("a newer decode took this one's place"))

    def _forget_cancelled(self) -> None:
        for waiting in (self._finals, self._partials):
            kept = [job for job in waiting if not job[0].cancelled()]
            waiting.clear()
            waiting.extend(kept)

    def _take(self) -> Job[T] | None:
        with self._changed:
            while not self._closed and not self._finals and not self._partials:
                self._changed.wait()
            if self._finals:
                return self._finals.popleft()
            return self._partials.popleft() if self._partials else None

    def _work(self) -> None:
        while (job := self._take()) is not None:
            future, decode = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = decode()
            except Exception as error:  # noqa: BLE001 - whoever asked gets it
                future.set_exception(error)
            else:
                future.set_result(result)
            del job, future, decode
