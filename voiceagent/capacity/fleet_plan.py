"""The machines that calls need, by simulating all calls on a fleet: how many, what callers wait for, how many are refused, what
an hour and a call cost; and what of it lies beyond the load test that it was simulated from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from voiceagent.capacity.fleet import places_for
from voiceagent.capacity.fleet_calls import Fleet, FleetRun, Rank, Scale, run_fleet
from voiceagent.capacity.fleet_waits import fleet_waits_ms, percentiles_ms
from voiceagent.capacity.load_result import LoadResult
from voiceagent.capacity.queueing import Workload
from voiceagent.capacity.traffic import Traffic
from voiceagent.capacity.wait_curve import WaitCurve
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import StageLimits

MOST_WORKERS = 20_000


class FleetAnswer(msgspec.Struct, frozen=True):
    """The outcome of a fleet and its calls."""

    machines: float
    """That ran, on average."""
    most_machines: int
    """At a time."""
    places: int
    """Calls at a time that the machines took on average."""
    calls: float
    """That would have been up on average, had none been refused."""
    peak_calls: int
    """That would have been up at the busiest moment."""
    most_calls: int
    """At a time, of those that were taken."""
    offered: int
    refused_share: float
    sent_back: int
    """Times that a worker that did not look full to the gateway was full or gone."""
    interrupted: int
    """Calls whose machine died."""
    lost: int
    """Interrupted calls that found no place again."""
    resumed_p95_s: float | None
    p50_ms: float | None
    """None: there was no turn."""
    p95_ms: float | None
    p99_ms: float | None
    within: bool
    """The waits are within the budget, and no larger share was refused than may be."""
    hours: float
    """Simulated."""
    price_an_hour: float | None
    price_a_call: float | None


@dataclass(frozen=True, slots=True)
class FleetTask:
    """The calls, the machines and the limits to simulate."""

    load: Workload
    limits: StageLimits
    cores: int
    """Cores of a machine."""
    fleet: Fleet
    """Its number of machines is what varies."""
    traffic: Traffic
    rank: Rank
    price: float | None
    """The price of a machine for an hour."""
    refused: float
    """The share of calls that may be refused."""
    seed: int


class FleetSimulation:
    """Simulates fleets of any number of machines of one kind."""

    def __init__(self, task: FleetTask) -> None:
        self._task = task
        fleet = task.fleet
        self._curve = WaitCurve(task.load, cores=task.cores, workers=fleet.workers, most_calls=fleet.places, seed=task.seed)

    def fixed(self, machines: int) -> FleetAnswer:
        """Simulates so many machines, which run all the time."""
        return self._answer(self._run(machines))

    def fewest(self) -> FleetAnswer:
        """Searches for the fewest machines that refuse few enough calls. Raises ConfigError when it would be too many."""
        fleet, traffic = self._task.fleet, self._task.traffic
        each = fleet.workers * fleet.places
        low = max(0, math.ceil(traffic.mean_calls * (1 - self._task.refused) / each) - 1)
        high = max(1, low + 1, math.ceil(places_for(traffic.peak_calls) / each))
        runs: dict[int, FleetRun] = {}

        def few_refused(machines: int) -> bool:
            runs[machines] = self._run(machines)
            return runs[machines].refused_share <= self._task.refused

        while not few_refused(high):
            low, high = high, math.ceil(high * 1.25)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if few_refused(middle) else (middle, high)
        return self._answer(runs[high])

    def scaled(self, scale: Scale, started: int, most: int) -> FleetAnswer:
        """Simulates as many machines as the scaling has run, of which so many run at the beginning."""
        return self._answer(self._run(most, started, scale))

    def _run(self, machines: int, started: int | None = None, scale: Scale | None = None) -> FleetRun:
        fleet = self._task.fleet
        if machines * fleet.workers > MOST_WORKERS:
            raise ConfigError(
                f"{machines:,} machines of {fleet.workers} workers are more than the {MOST_WORKERS:,} workers that are "
                "simulated; simulate a part of the calls on a part of the machines"
            )
        chosen = replace(fleet, machines=machines, started=machines if started is None else started)
        return run_fleet(chosen, self._task.traffic, self._task.rank, self._task.seed, scale)

    def _answer(self, run: FleetRun) -> FleetAnswer:
        task = self._task
        p50_ms, p95_ms, p99_ms = percentiles_ms(fleet_waits_ms(run, self._curve, task.seed))
        hours = run.end_s / 3600
        machines = run.machine_s / run.end_s
        price = None if task.price is None else machines * task.price
        in_time = p50_ms is not None and p95_ms is not None and p50_ms <= task.limits.p50_ms and p95_ms <= task.limits.p95_ms
        taken = max(1, run.offered - run.refused)
        return FleetAnswer(
            machines=round(machines, 2),
            most_machines=run.most_machines,
            places=round(machines * task.fleet.workers * task.fleet.places),
            calls=round(task.traffic.mean_calls, 1),
            peak_calls=task.traffic.peak_calls,
            most_calls=run.most_calls,
            offered=run.offered,
            refused_share=run.refused_share,
            sent_back=run.sent_back,
            interrupted=run.interrupted,
            lost=run.lost,
            resumed_p95_s=round(float(np.percentile(run.resumed_s, 95)), 1) if run.resumed_s else None,
            p50_ms=p50_ms,
            p95_ms=p95_ms,
            p99_ms=p99_ms,
            within=in_time and run.refused_share <= task.refused,
            hours=round(hours, 3),
            price_an_hour=None if price is None else round(price, 4),
            price_a_call=None if price is None else round(price * hours / taken, 6),
        )


def beyond_measured(result: LoadResult, *, cores: int, workers: int, places: int) -> list[str]:
    """The parts of a simulation that no load test has seen, a sentence each."""
    most = max((step.calls for step in result.steps), default=0)
    used = max((step.server.cores_used for step in result.steps), default=0.0)
    measured_cores = result.steps[0].server.cores if result.steps else 0
    found = []
    measured_workers = max((step.server.workers for step in result.steps), default=1)
    if places > most / measured_workers:
        had = f"{most / measured_workers:.3g}"
        found.append(f"a worker has up to {places} calls here, and had at most {had} in the load test")
    if workers > measured_workers:
        had = "one" if measured_workers == 1 else str(measured_workers)
        found.append(f"{workers} workers share a machine here; the load test had {had}")
    if cores != measured_cores:
        found.append(f"a machine has {cores} cores here, and had {measured_cores} in the load test")
    found.append(f"the load test used at most {used:.2f} cores")
    return found
