"""Admission control: a limit on the calls that the server carries at once. The limits are a number, the memory that their
conversations will take in the language model, and the load of the event loop. A call that would make all others stutter waits for
a place, or is refused at signalling, while the caller can still be informed. The cost of a call shows only once its caller talks.
Few calls are let in at a time, therefore: their cost is seen before more come."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from voiceagent.errors import ConfigError
from voiceagent.llm.engine import KvCapacity
from voiceagent.server.calls.pressure import Pressure
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)

RETRY_AFTER_S = 15
BUSY_RETRY_AFTER_S = 5
CARRIED_ANYWAY = 4
"""The number of calls that are carried although the event loop is late: so few are not the cause."""
YOUNG_S = 3.0
"""The time until a call's cost shows: the greeting, the first words."""
MAX_YOUNG = 8
"""The most calls younger than that at a time, or half as many as are up if that is more."""
YOUNG_WAIT_S = 4.0
"""Longest wait of a call until others are no longer young."""
MAX_WAITING_FOR_YOUNG = 64

AskCapacity = Callable[[], Awaitable[KvCapacity | None]]
"""Asks the language model for its memory: `LlmEngine.kv_capacity`."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A caller in the queue."""

    place: asyncio.Future[None]
    is_there: Callable[[], bool]


class Admission:
    """Counts the calls from their offer to their end."""

    def __init__(self, settings: AdmissionSettings, metrics: Metrics, workers: int = 1) -> None:
        """`workers` is the number of processes that share the language model's memory, where that is a server's."""
        self.pressure = Pressure()
        """Updated by whoever watches the event loop."""
        self.settings = settings
        self._workers = workers
        self._metrics = metrics
        self._admitted = 0
        self._young: deque[float] = deque()
        """The times at which the youngest calls were admitted, in seconds of the event loop's clock."""
        self._waiting_for_young = 0
        self._closed = False
        self._queue: deque[_Waiting] = deque()
        self._ask_capacity: AskCapacity | None = None
        """Set while the language model has not reported its memory."""
        self._asking = TaskOwner()
        self._set_limit(settings.max_calls, "server_full", f"at most {_calls(settings.max_calls)}")

    async def learn(self, ask: AskCapacity) -> None:
        """Ask the language model for its memory. A server that is not up yet is asked again with each call, until it answers.
        Raises ConfigError when not even one call fits."""
        capacity = await ask()
        self._ask_capacity = ask if capacity is None else None
        self.fit(capacity)

    def fit(self, capacity: KvCapacity | None) -> None:
        """Carry no more calls than the language model reports memory for (None: it reports none), and no more than the settings
        say. Raises ConfigError when not even one fits."""
        settings = self.settings
        reported = 0 if capacity is None else capacity.tokens // (self._workers if capacity.is_servers else 1)
        known = [tokens for tokens in (reported, settings.kv_tokens // self._workers) if tokens]
        if not known:
            return
        tokens = min(known)
        each = min(settings.context_tokens_per_call, capacity.longest_tokens if capacity else tokens)
        fitting = tokens // each
        if not fitting:
            raise ConfigError(
                f"a call of {each} tokens does not fit the language model's memory of {tokens}; lower "
                "admission.context_tokens_per_call, or give the model more memory"
            )
        if fitting < settings.max_calls:
            self._set_limit(
                fitting, "memory_full", f"the language model's memory of {tokens} tokens holds {_calls(fitting)} of {each}"
            )

    async def admit(
        self,
        is_there: Callable[[], bool] = lambda: True,
        *,
        is_written: bool = False,
    ) -> None:
        """Take a place, or wait for one if callers may; give it back with `release`. A waiting caller is passed over when
        `is_there` says that it has gone. `is_written`: no audio is to come, so the cost is known. Raises Problem (503) when there
        is no place."""
        if self._closed:
            raise _stopping()
        await self._wait_for_young(is_written=is_written)
        if self._closed:
            raise _stopping()
        if self._ask_capacity is not None and not self._asking:
            self._asking.start_alone(self._learn_late(self._ask_capacity), "memory of the language model")
        if self._admitted < self._limit:
            self._admitted += 1
            if not is_written:
                self._young.append(asyncio.get_running_loop().time())
            return
        queue = self.settings.queue
        self._queue = deque(waiting for waiting in self._queue if waiting.is_there())
        if len(self._queue) >= queue.length:
            raise self._full(f" and {len(self._queue)} more wait" if queue.length else "")
        await self._wait(is_there)

    @property
    def is_full(self) -> bool:
        """True while no place is free."""
        return self._admitted >= self._limit

    def readmit(self) -> None:
        """Take a place for a call that had one at another server, also where there is none."""
        self._admitted += 1

    def release(self, *, is_written: bool = False) -> None:
        """Give a place back. It goes to the caller that waits longest, if there is one and there is still room for as many
        calls."""
        if self._young and not is_written:
            self._young.pop()  # a call that takes the place of another adds nothing
        while self._queue and self._admitted <= self._limit:
            waiting = self._queue.popleft()
            if waiting.is_there():
                waiting.place.set_result(None)
                return
        self._admitted -= 1

    async def close(self) -> None:
        """Refuse every waiting and every new caller."""
        self._closed = True
        for waiting in self._queue:
            waiting.place.set_exception(_stopping())
        self._queue.clear()
        await self._asking.close()

    async def _wait_for_young(self, *, is_written: bool) -> None:
        """Return when the cost of the earlier calls is known. Raises Problem (503) when that takes too long, or when the event
        loop carries no more."""
        until_s = asyncio.get_running_loop().time() + YOUNG_WAIT_S
        while True:
            now_s = asyncio.get_running_loop().time()
            while self._young and self._young[0] <= now_s - YOUNG_S:
                self._young.popleft()
            calls = min(self._admitted, self.pressure.calls_up().connected + len(self._young)) + 1
            if self._admitted >= CARRIED_ANYWAY and (self._sheds() or not self.pressure.carries(calls)):
                raise self._busy()
            if is_written or len(self._young) < max(MAX_YOUNG, self._admitted // 2) or self._admitted >= self._limit:
                return
            grown_s = self._young[0] + YOUNG_S
            if grown_s > until_s or self._waiting_for_young >= MAX_WAITING_FOR_YOUNG:
                raise self._busy()
            self._waiting_for_young += 1
            try:
                await asyncio.sleep(grown_s - now_s)
            finally:
                self._waiting_for_young -= 1

    def _sheds(self) -> bool:
        """Returns whether the latency budgets leave no room for a call more."""
        limit = self._metrics.budget_actions.most_calls(self._admitted)
        return limit is not None and self._admitted >= limit

    def _busy(self) -> Problem:
        why = "latency budgets are missed" if self._metrics.budget_actions.takes_fewer else self.pressure.why()
        log.info("a call was refused with %d up: %s", self._admitted, why)
        message = "This server carries no more calls at the moment; call again in a few seconds."
        return Problem(503, "busy", message, retry_after_s=BUSY_RETRY_AFTER_S)

    async def _learn_late(self, ask: AskCapacity) -> None:
        """The answer to this call's question holds for the next call."""
        try:
            await self.learn(ask)
        except ConfigError as error:
            log.error("%s", error)

    async def _wait(self, is_there: Callable[[], bool]) -> None:
        waiting = _Waiting(asyncio.get_running_loop().create_future(), is_there)
        self._queue.append(waiting)
        self._metrics.calls_waiting += 1
        try:
            await asyncio.wait((waiting.place,), timeout=self.settings.queue.wait_s)
        except asyncio.CancelledError:
            if waiting.place.done() and waiting.place.exception() is None:
                self.release()
            raise
        finally:
            self._metrics.calls_waiting -= 1
            waiting.place.cancel()
            if waiting in self._queue:
                self._queue.remove(waiting)
        if waiting.place.cancelled():
            raise self._full(f", and nobody hung up within {self.settings.queue.wait_s:g} s")
        waiting.place.result()

    def _set_limit(self, calls: int, code: str, reason: str) -> None:
        self._limit = self._metrics.call_places = calls
        self._code = code
        self._reason = reason

    def _full(self, besides: str) -> Problem:
        message = f"All lines of this server are in use ({self._reason}){besides}; call again in a moment."
        return Problem(503, self._code, message, retry_after_s=RETRY_AFTER_S)


def _stopping() -> Problem:
    return Problem(503, "server_stopping", "The server is stopping; call again when it is back.")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
