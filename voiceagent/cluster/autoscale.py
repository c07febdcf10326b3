"""Decides when a cluster needs another worker and when it has one too many. Pure: what the workers report, the settings and the
time go in, a decision comes out. It counts calls and the load of event loops, not the use of processors, which shows a call
only once its caller talks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

START_WITHIN_S = 90.0
"""The time that loading the models may take. Places of a worker that takes longer are no longer expected."""


@dataclass(frozen=True, slots=True)
class ScaleSettings:
    """The number of workers that a region may have, and of places are kept free."""

    min_workers: int = 1
    max_workers: int = 1
    idle_places: int = 2
    """The warm pool: the places that are free and ready at any time, until there are `max_workers`."""
    surplus_places: int = 1
    """A worker is drained only where as many places more than `idle_places` stay free without it. So no worker is started and
    drained in turn for one call that comes and goes."""
    busy_level: float = 0.7
    """A worker whose event loop is loaded so far has no free place, whatever its number of calls. At 1 it refuses calls."""
    shrink_after_s: float = 120.0
    """A surplus must last so long before a worker is drained."""
    pause_s: float = 60.0
    """The time after a change in which no worker is drained."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_workers <= self.max_workers:
            raise ValueError(f"min_workers is {self.min_workers}, expected at most max_workers, which is {self.max_workers}")


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """The load of one worker."""

    number: int
    calls: int = 0
    places: int = 1
    """The calls that it carries at once."""
    level: float = 0.0
    """The load of its event loop: 1 is full."""
    is_ready: bool = True
    is_draining: bool = False
    unready_s: float = 0.0
    """The time for which it has not been ready."""


@dataclass(frozen=True, slots=True)
class ScaleMemory:
    """The memory that a decision leaves for the next one."""

    surplus_since_s: float | None = None
    changed_s: float = -math.inf
    """The time at which a worker was last started or drained."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about the workers of a region."""

    start: int = 0
    """The number of workers to start."""
    drain: int | None = None
    """The worker to drain."""
    reason: str = ""
    memory: ScaleMemory = ScaleMemory()


def decide(workers: Sequence[WorkerLoad], settings: ScaleSettings, memory: ScaleMemory, now_s: float) -> Decision:
    """Decide what the region needs now. A worker that drains is not counted: it takes no call, and ends by itself."""
    serving = [worker for worker in workers if not worker.is_draining]
    if len(serving) < settings.min_workers:
        reason = f"{len(serving)} of at least {settings.min_workers} workers are there"
        return _started(settings.min_workers - len(serving), reason, now_s)
    free = sum(_free(worker, settings) for worker in serving)
    coming = sum(worker.places for worker in serving if not worker.is_ready and worker.unready_s < START_WITHIN_S)
    lacking = settings.idle_places - free - coming
    if lacking > 0:
        places = max([worker.places for worker in serving], default=1)
        more = min(math.ceil(lacking / max(1, places)), settings.max_workers - len(serving))
        if more > 0:
            return _started(more, f"{free} places are free and {coming} are coming, {settings.idle_places} are wanted", now_s)
    leaving = _least_needed(serving, settings, free)
    if leaving is None:
        return Decision(memory=replace(memory, surplus_since_s=None))
    since_s = now_s if memory.surplus_since_s is None else memory.surplus_since_s
    if now_s - since_s < settings.shrink_after_s or now_s - memory.changed_s < settings.pause_s:
        return Decision(memory=replace(memory, surplus_since_s=since_s))
    reason = f"{free} places have been free for {now_s - since_s:.0f} s, {settings.idle_places} are wanted"
    return Decision(drain=leaving.number, reason=reason, memory=ScaleMemory(changed_s=now_s))


def _started(count: int, reason: str, now_s: float) -> Decision:
    return Decision(start=count, reason=reason, memory=ScaleMemory(changed_s=now_s))


def _free(worker: WorkerLoad, settings: ScaleSettings) -> int:
    if not worker.is_ready or worker.level >= settings.busy_level:
        return 0
    return max(0, worker.places - worker.calls)


def _least_needed(serving: Sequence[WorkerLoad], settings: ScaleSettings, free: int) -> WorkerLoad | None:
    """The worker with the fewest calls, the newest of those, if enough places stay free without it and its calls would find one
    of those."""
    ready = [worker for worker in serving if worker.is_ready]
    if len(serving) <= settings.min_workers or not ready:
        return None
    leaving = min(ready, key=lambda worker: (worker.calls, -worker.number))
    stay = free - _free(leaving, settings)
    return leaving if stay >= settings.idle_places + settings.surplus_places + leaving.calls else None
