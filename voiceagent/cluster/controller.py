"""The controller of a cluster: it asks its workers for their state, has workers started and drained as `autoscale` decides, and
tells gateways which workers there are. Where a worker runs, and that a dead one is started again, is Ray's business. What the
controller needs to know it can ask for again: one that was started anew finds its workers by their names."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from voiceagent.cluster.autoscale import ScaleMemory, ScaleSettings, WorkerLoad, decide
from voiceagent.errors import UnknownNameError, VoiceAgentError
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.server.calls.call_ids import MAX_WORKER

log = logging.getLogger(__name__)

ASK_EVERY_S = 0.5
ANSWER_WITHIN_S = 2.0
TOLD_WITHIN_S = 3.0
"""The time for which a gateway's word holds."""
UNKNOWN = WorkerStatus(reason="No gateway hears from it.")


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """A worker that is to run."""

    number: int
    """Its calls' ids begin with it: 1 to 65,535."""
    region: str
    """The label of the machines on which it may run; empty: any."""
    slot: int
    """Its share of the UDP ports, of `slots`."""
    slots: int


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """An account by a worker's actor of the process that it has started."""

    machine: str = ""
    """The name of the machine on which it runs."""
    process: int = 0
    """The process's id there; 0: it was not started yet."""
    is_over: bool = False
    """It was drained, and its last call has ended."""


def slots_of(settings: ScaleSettings, regions: Sequence[str]) -> int:
    """The workers that there may be at once: as many may drain as may serve."""
    return 2 * settings.max_workers * len(regions)


class WorkerGoneError(VoiceAgentError):
    """The worker is not there any more, and nobody starts it again."""


class Worker(Protocol):
    """A worker, wherever it runs."""

    async def report(self) -> WorkerReport:
        """An account of its process. Raises WorkerGoneError, or an exception of whatever carries the question, where it does not
        answer."""
        ...

    async def drain(self) -> None:
        """Have it take no more calls and end when its last has ended. May be called again."""
        ...

    async def end(self) -> None:
        """End it, with its calls, as a server that is told to stop does. May be called again."""
        ...


class Places(Protocol):
    """The machines on which workers run."""

    def start(self, order: WorkerOrder) -> Worker:
        """Have a worker started. It may take minutes until it answers."""
        ...

    def running(self) -> Mapping[int, tuple[WorkerOrder, Worker]]:
        """The workers that were started before, by number."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker as the controller knows it."""

    order: WorkerOrder
    report: WorkerReport = WorkerReport()
    status: WorkerStatus = UNKNOWN
    """Its last word to a gateway; `UNKNOWN` while no gateway hears from it."""
    is_draining: bool = False
    """It was told to drain, or says so itself."""
    ready_s: float = 0.0
    """The time at which it was last ready, or was started; in seconds of the controller's clock."""

    @property
    def is_ready(self) -> bool:
        """True if it takes calls."""
        return self.status.phase == "ready" and not self.status.reason and not self.is_draining

    def load(self, now_s: float) -> WorkerLoad:
        """The facts that decide about more or fewer workers. One that misses its latency budgets has no place free."""
        status = self.status
        level = 1.0 if status.sheds else status.pressure
        unready_s = 0.0 if self.is_ready else now_s - self.ready_s
        calls = status.calls + status.waiting
        return WorkerLoad(self.order.number, calls, max(1, status.places), level, self.is_ready, self.is_draining, unready_s)


@dataclass(slots=True)
class _Region:
    memory: ScaleMemory = field(default_factory=ScaleMemory)
    reason: str = ""


class Controller:
    """Make it inside the event loop; `run` does its work."""

    def __init__(
        self,
        places: Places,
        settings: ScaleSettings,
        regions: Sequence[str] = ("",),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings` hold for each of the regions."""
        self.settings = settings
        self.is_ending = False
        """No worker is started any more."""
        self.is_over = False
        """All have ended."""
        self._places = places
        self._clock = clock
        self._regions = {region: _Region() for region in regions}
        self._workers: dict[int, Worker] = {}
        self._states: dict[int, WorkerState] = {}
        self._told: dict[int, tuple[WorkerStatus, float]] = {}
        self._heard_s = -math.inf
        """The time at which a gateway last told something."""
        self._last = 0
        for number, (order, worker) in places.running().items():
            self._workers[number], self._states[number] = worker, WorkerState(order, ready_s=clock())
            self._last = max(self._last, number)

    def states(self) -> list[WorkerState]:
        """The workers, by number."""
        return [self._states[number] for number in sorted(self._states)]

    def reasons(self) -> dict[str, str]:
        """The last change of each region, in words."""
        return {name: region.reason for name, region in self._regions.items()}

    def told(self, statuses: Mapping[int, WorkerStatus]) -> None:
        """A gateway tells what its workers told it. It does so every half second."""
        now_s = self._heard_s = self._clock()
        self._told.update({number: (status, now_s) for number, status in statuses.items()})

    async def run(self) -> None:
        """Ask and decide until the controller ends."""
        while not self.is_ending:
            await self.step()
            await asyncio.sleep(ASK_EVERY_S)

    async def step(self) -> None:
        """Ask all workers once, then start or drain. While no gateway tells how they stand, only missing ones are started."""
        await asyncio.gather(*(self._ask(number) for number in list(self._workers)))
        if self.is_ending:
            return
        now_s = self._clock()
        is_blind = now_s - self._heard_s > TOLD_WITHIN_S
        for name, region in self._regions.items():
            workers = [state.load(now_s) for state in self._states.values() if state.order.region == name]
            if is_blind and sum(not worker.is_draining for worker in workers) >= self.settings.min_workers:
                continue
            decision = decide(workers, self.settings, region.memory, now_s)
            region.memory = decision.memory
            if decision.reason:
                region.reason = decision.reason
            for _ in range(decision.start):
                self._start(name, decision.reason)
            if decision.drain is not None:
                log.info("worker %d drains: %s", decision.drain, decision.reason)
                await self.drain(decision.drain)

    async def drain(self, number: int) -> None:
        """Have a worker take no more calls and end when its last has ended. Raises UnknownNameError."""
        if number not in self._states:
            there = ", ".join(map(str, sorted(self._states))) or "none"
            raise UnknownNameError(f"there is no worker {number}; there are: {there}")
        self._states[number] = replace(self._states[number], is_draining=True)
        await self._told_to_drain(number)

    async def end(self) -> None:
        """End all workers, with their calls."""
        self.is_ending = True
        workers = list(self._workers.values())
        self._workers.clear()
        self._states.clear()
        for outcome in await asyncio.gather(*(worker.end() for worker in workers), return_exceptions=True):
            if isinstance(outcome, BaseException):
                log.warning("a worker could not be ended: %s", outcome)
        self.is_over = True

    def _start(self, region: str, reason: str) -> None:
        taken = {state.order.slot for state in self._states.values()}
        slots = slots_of(self.settings, tuple(self._regions))
        free = [slot for slot in range(slots) if slot not in taken]
        if not free:
            log.warning("no worker is started in region %r: too many still drain", region)
            return
        order = WorkerOrder(self._next_number(), region, free[0], slots)
        log.info("worker %d starts: %s", order.number, reason)
        self._workers[order.number] = self._places.start(order)
        self._states[order.number] = WorkerState(order, ready_s=self._clock())

    def _next_number(self) -> int:
        """Numbers are used again as late as possible: ids of calls hold them."""
        self._last = next(
            number
            for number in ((self._last + step) % MAX_WORKER + 1 for step in range(MAX_WORKER))
            if number not in self._states
        )
        return self._last

    async def _ask(self, number: int) -> None:
        worker, state = self._workers[number], self._states[number]
        try:
            report = await asyncio.wait_for(worker.report(), ANSWER_WITHIN_S)
        except WorkerGoneError as error:
            log.warning("worker %d is gone: %s", number, error)
            report = WorkerReport(is_over=True)
        except Exception as error:  # noqa: BLE001 - whatever carries the question has errors of its own
            if state.report.process:
                log.warning("worker %d does not answer: %s", number, str(error) or type(error).__name__)
            report = WorkerReport()
        if number not in self._states:
            return
        if report.is_over:
            del self._workers[number], self._states[number]
            self._told.pop(number, None)
            await worker.end()
            return
        await self._learn(number, report)

    async def _learn(self, number: int, report: WorkerReport) -> None:
        now_s, before = self._clock(), self._states[number]
        status, told_s = self._told.get(number, (UNKNOWN, now_s))
        if now_s - told_s > TOLD_WITHIN_S or not report.process:
            status = UNKNOWN
        is_draining = before.is_draining or status.phase == "draining"
        after = replace(before, report=report, status=status, is_draining=is_draining)
        self._states[number] = replace(after, ready_s=now_s) if after.is_ready else after
        if before.is_draining and status.phase == "ready":  # it was started again meanwhile
            await self._told_to_drain(number)

    async def _told_to_drain(self, number: int) -> None:
        try:
            await asyncio.wait_for(self._workers[number].drain(), ANSWER_WITHIN_S)
        except Exception as error:  # noqa: BLE001 - as above; it is told again once it answers
            log.warning("worker %d could not be told to drain: %s", number, str(error) or type(error).__name__)
