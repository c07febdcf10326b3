"""Admission control: how many calls the server carries at once, by their number and by the memory that their conversations will
take in the language model. A call that would make all others stutter waits for a place, or is refused while it can still be
told so, at signalling."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from voiceagent.capacity.settings import AdmissionSettings
from voiceagent.errors import ConfigError
from voiceagent.llm.engine import KvCapacity
from voiceagent.server.metrics import Metrics
from voiceagent.server.problems import Problem

log = logging.getLogger(__name__)

RETRY_AFTER_S = 15

AskCapacity = Callable[[], Awaitable[KvCapacity | None]]
"""Asks the language model for its memory: `LlmEngine.kv_capacity`."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A caller in the queue."""

    place: asyncio.Future[None]
    is_there: Callable[[], bool]


class Admission:
    """Counts the calls from their offer to their end."""

    def __init__(self, settings: AdmissionSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._admitted = 0
        self._closed = False
        self._queue: deque[_Waiting] = deque()
        self._ask_capacity: AskCapacity | None = None
        """While the language model has not told its memory."""
        self._asking: asyncio.Task[None] | None = None
        self._set_limit(settings.max_calls, "server_full", f"at most {_calls(settings.max_calls)}")

    async def learn(self, ask: AskCapacity) -> None:
        """Ask the language model for its memory. A server that is not up yet is asked again with each call, until it tells.
        Raises ConfigError when not even one call fits."""
        capacity = await ask()
        self._ask_capacity = ask if capacity is None else None
        self.fit(capacity)

    def fit(self, capacity: KvCapacity | None) -> None:
        """Carry no more calls than the language model has memory for, as it says (None: it cannot tell) and as the settings say.
        Raises ConfigError when not even one fits."""
        settings = self._settings
        known = [tokens for tokens in (capacity.tokens if capacity else 0, settings.kv_tokens) if tokens]
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

    async def admit(self, is_there: Callable[[], bool] = lambda: True) -> None:
        """Take a place, or wait for one where callers may; give it back with `release`. Whoever waits is passed over when
        `is_there` says that it has gone. Raises Problem (503) when there is none."""
        if self._closed:
            raise _stopping()
        if self._ask_capacity is not None and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._learn_late(self._ask_capacity), name="memory of the language model")
        if self._admitted < self._limit:
            self._admitted += 1
            return
        queue = self._settings.queue
        self._queue = deque(waiting for waiting in self._queue if waiting.is_there())
        if len(self._queue) >= queue.length:
            raise self._full(f" and {len(self._queue)} more wait" if queue.length else "")
        await self._wait(is_there)

    def release(self) -> None:
        """Give a place back: to who waits longest, if anyone does and there is room for as many calls still."""
        while self._queue and self._admitted <= self._limit:
            waiting = self._queue.popleft()
            if waiting.is_there():
                waiting.place.set_result(None)
                return
        self._admitted -= 1

    async def close(self) -> None:
        """Refuse whoever waits, and all who come."""
        self._closed = True
        for waiting in self._queue:
            waiting.place.set_exception(_stopping())
        self._queue.clear()
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _learn_late(self, ask: AskCapacity) -> None:
        """What this call's question brings holds for the next one."""
        try:
            await self.learn(ask)
        except ConfigError as error:
            log.error("%s", error)

    async def _wait(self, is_there: Callable[[], bool]) -> None:
        waiting = _Waiting(asyncio.get_running_loop().create_future(), is_there)
        self._queue.append(waiting)
        self._metrics.calls_waiting += 1
        try:
            await asyncio.wait((waiting.place,), timeout=self._settings.queue.wait_s)
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
            raise self._full(f", and nobody hung up within {self._settings.queue.wait_s:g} s")
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
