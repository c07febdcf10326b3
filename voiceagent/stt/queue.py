"""The queue in front of a recogniser's worker threads. Windows that wait at the same time and fit each other are decoded in one
run. Finals go first, and one worker takes only finals, so they never wait for a partial. A partial that had to wait behind too
much is dropped, because a newer one of the same call is on its way. Work that nobody waits for any more is never done."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from voiceagent.errors import EngineError
from voiceagent.stt.engine import DecodeDropped

W = TypeVar("W")
R = TypeVar("R")
MAX_PARTIALS = 16
MAX_FINALS = 64


@dataclass(frozen=True, slots=True, eq=False)
class WaitingWindow(Generic[W, R]):
    """A window that waits."""

    window: W
    group: Hashable
    future: Future[R]


class DecodeQueue(Generic[W, R]):
    """Worker threads that decode windows, finals before partials.

    Args:
        decode: decodes windows of one group; as many results, in order.
        group: windows with the same answer may share a run.
        max_batch: most windows in a run.
        workers: threads that take partials and finals; one more takes finals only.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[W]], Sequence[R]],
        *,
        group: Callable[[W], Hashable] = id,
        max_batch: int = 1,
        workers: int = 1,
    ) -> None:
        self.dropped_partials = 0
        self._decode = decode
        self._group = group
        self._max_batch = max_batch
        self._finals: deque[WaitingWindow[W, R]] = deque()
        self._partials: deque[WaitingWindow[W, R]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, args=(index > 0,), name=f"stt-{index}", daemon=True)
            for index in range(workers + 1)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, window: W, *, final: bool) -> R:
        """Decode `window` in a worker and return its result. Cancelling removes waiting work from the queue. Raises DecodeDropped
        for a partial that made room for others, EngineError when too many finals wait or the queue is closed."""
        work: WaitingWindow[W, R] = WaitingWindow(window, self._group(window), Future())
        with self._changed:
            if self._closed:
                raise EngineError("the speech recogniser is closed")
            self._forget_cancelled()
            if final and len(self._finals) >= MAX_FINALS:
                problem = f"the speech recogniser is overloaded: {MAX_FINALS} decodes wait; lower the number of calls"
                raise EngineError(problem, "overloaded")
            if not final and len(self._partials) >= MAX_PARTIALS:
                self._drop(self._partials.popleft().future)
            (self._finals if final else self._partials).append(work)
            self._changed.notify_all()
        return await asyncio.wrap_future(work.future)

    @property
    def waiting(self) -> int:
        """Windows that no worker has taken yet."""
        return len(self._finals) + len(self._partials)

    async def close(self) -> None:
        """Drop the waiting work, and let the workers finish their current run."""
        with self._changed:
            self._closed = True
            for work in [*self._finals, *self._partials]:
                self._drop(work.future)
            self._finals.clear()
            self._partials.clear()
            self._changed.notify_all()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _drop(self, future: Future[R]) -> None:
        if future.set_running_or_notify_cancel():
            self.dropped_partials += 1
            future.set_exception(DecodeDropped("a newer decode took this one's place"))

    def _forget_cancelled(self) -> None:
        for waiting in (self._finals, self._partials):
            kept = [work for work in waiting if not work.future.cancelled()]
            waiting.clear()
            waiting.extend(kept)

    def _take(self, partials_too: bool) -> list[WaitingWindow[W, R]]:
        """The next run: the oldest final, else the oldest partial, with those of its kind that fit it. Empty when the queue is
        closed."""
        with self._changed:
            while not self._closed:
                if taken := self._alike(self._finals) or (self._alike(self._partials) if partials_too else []):
                    return taken
                self._changed.wait()
            return []

    def _alike(self, waiting: deque[WaitingWindow[W, R]]) -> list[WaitingWindow[W, R]]:
        """Take the oldest of `waiting` and those behind it that may share its run."""
        taken: list[WaitingWindow[W, R]] = []
        left: list[WaitingWindow[W, R]] = []
        while waiting and len(taken) < self._max_batch:
            work = waiting.popleft()
            if taken and work.group != taken[0].group:
                left.append(work)
            elif work.future.set_running_or_notify_cancel():
                taken.append(work)
        waiting.extendleft(reversed(left))
        return taken

    def _work(self, partials_too: bool) -> None:
        while taken := self._take(partials_too):
            self._run(taken)
            del taken

    def _run(self, taken: list[WaitingWindow[W, R]]) -> None:
        try:
            results = self._decode([work.window for work in taken])
        except Exception as error:  # noqa: BLE001 - whoever asked gets it
            if len(taken) == 1:
                taken[0].future.set_exception(error)
                return
            for work in taken:
                self._run([work])
        else:
            for work, result in zip(taken, results, strict=True):
                work.future.set_result(result)
