"""Machines for any number of calls: the most calls that a simulated machine carries within the budget, and the places that random
arrivals need beyond the mean."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from voiceagent.capacity.queueing import Arrivals, Simulated, Workload, simulate
from voiceagent.latency.budgets import StageLimits

LOOP_SHARE = 0.7
"""The event loop's share of a core beyond which a server takes no call."""
MOST = 2000
REFUSED_SHARE = 0.01
"""Calls that may find no place."""
_simulated = functools.lru_cache(64)(simulate)


class FleetRow(msgspec.Struct, frozen=True):
    """The machines for a number of calls."""

    calls: float
    """At a time, on average."""
    places: int
    """Calls at a time that there must be room for, so that one in a hundred is refused."""
    machines: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    price: float | None
    """An hour of all machines."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The calls that one machine carries within the budget."""

    calls: int
    """On all of its workers, spread evenly; 0: not one a worker."""
    at_most: Simulated
    """With so many calls."""
    binds: str
    """The reason why it is not one more."""
    workers: int = 1

    @property
    def places(self) -> int:
        """The calls of a worker."""
        return self.calls // self.workers


def carried(load: Workload, limits: StageLimits, cores: int, seed: int, workers: int = 1) -> Carried:
    """Searches for the most calls at a time, on so many workers that share the cores. Each worker has an event loop and models of
    its own."""
    loop_most = math.floor(LOOP_SHARE / load.loop) if load.loop > 0 else MOST
    most = min(MOST, loop_most)
    tried: dict[int, Simulated] = {}

    def of(calls: int) -> Simulated:
        beside = (workers - 1) * calls * load.cores_a_call
        return _simulated(load, Arrivals(calls, steady=True), cores=cores, seed=seed, beside=beside)

    def fits(calls: int) -> bool:
        found = tried[calls] = of(calls)
        return found.percentile_ms(50) <= limits.p50_ms and found.percentile_ms(95) <= limits.p95_ms

    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    at_most = tried[low] if low else of(1)
    if low == most:
        return Carried(low * workers, at_most, "event loop" if low == loop_most else "no more were simulated", workers)
    over = tried[low + 1]
    name = "p50" if over.percentile_ms(50) > limits.p50_ms else "p95"
    return Carried(low * workers, at_most, f"{name} of voice to voice", workers)


def places_for(calls: float, refused: float = REFUSED_SHARE) -> int:
    """Places with which that share of calls finds none (Erlang's B formula)."""
    places, blocked = 0, 1.0
    while blocked > refused:
        places += 1
        blocked = calls * blocked / (places + calls * blocked)
    return places


def places_of(arrivals_s: Sequence[float], call_s: float, seed: int) -> tuple[float, int]:
    """The mean number of calls at a time of given arrivals, and the places of which 99 in 100 of them find one free. Calls last
    exponentially long."""
    dice = random.Random(seed)
    starts = np.sort(np.asarray(arrivals_s, dtype=float))
    lengths = np.asarray([dice.expovariate(1 / call_s) for _ in starts])
    ends = np.sort(starts + lengths)
    found = np.arange(len(starts)) - np.searchsorted(ends, starts, side="right") + 1
    span_s = max(float(starts[-1] - starts[0]), 1.0)
    return float(np.sum(lengths)) / (span_s + call_s), max(
        1, int(np.percentile(found, 100 * (1 - REFUSED_SHARE), method="higher"))
    )


def machines_for(
    load: Workload, one: Carried, calls: float, places: int, *, cores: int, call_s: float, price: float | None, seed: int
) -> FleetRow:
    """The machines for so many calls. One machine of one worker gets random arrivals; the calls of several are spread evenly, so
    one with its share of them is simulated."""
    machines = max(1, math.ceil(places / max(1, one.calls)))
    share = calls / machines / one.workers
    beside = share * (one.workers - 1) * load.cores_a_call
    if machines * one.workers == 1:
        arrivals = Arrivals(calls, call_s=call_s, places=max(1, one.calls))
    else:
        arrivals = Arrivals(math.ceil(share), steady=True)
    found = _simulated(load, arrivals, cores=cores, seed=seed, beside=beside)
    p50_ms, p95_ms, p99_ms = (round(found.percentile_ms(percent), 1) for percent in (50, 95, 99))
    return FleetRow(calls, places, machines, p50_ms, p95_ms, p99_ms, None if price is None else round(price * machines, 4))
