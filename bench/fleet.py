"""Simulates fleets from the measured turns of `bench prediction`: what a machine carries by its cores and workers, and the
machines for more calls. Nothing is measured here but the time that a simulation takes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator

from bench.harness import RESULTS_DIR, Figure, at_most, plain
from voiceagent.capacity.fleet import LOOP_SHARE, carried
from voiceagent.capacity.fleet_calls import Fleet
from voiceagent.capacity.fleet_plan import FleetSimulation, FleetTask
from voiceagent.capacity.load_result import LoadResult, read_load
from voiceagent.capacity.queueing import workload
from voiceagent.capacity.traffic import Lengths, steady
from voiceagent.cli.fleet_simulation import TOTAL, gateway_rank

LOAD = RESULTS_DIR / "loads" / "prediction.json"
CORES = (2, 16)
WORKERS = (1, 2, 4, 8, 16)
CALLS = (100, 1000, 10_000)
CALL_S = 180.0
DEATHS = 2
REFUSED = 0.01
MOST_S = 60.0
NOTES = """
Simulated from the turns in `loads/prediction.json`, whose server had few calls: the more a figure asks of a worker or a machine,
the further it lies beyond what was measured. Calls come at random and last three minutes on average. 100,000 of them are
simulated, and two machines die meanwhile.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about a minute."""
    return list(_figures(read_load(LOAD)))


def _figures(result: LoadResult) -> Iterator[Figure]:
    load = workload(result)
    best = 1
    for cores in CORES:
        most = 0
        for workers in (number for number in WORKERS if number <= cores):
            calls = carried(load, result.limits, cores, 0, workers).calls
            name = f"{result.profile}, {cores} cores, {workers} worker{'' if workers == 1 else 's'}"
            yield plain(f"{name}: calls within the budget", calls, "")
            if calls > most:
                most, best = calls, workers
    cores = CORES[-1]
    places = carried(load, result.limits, cores, 0, best).places
    for calls in CALLS:
        fleet = Fleet(1, best, places, load.loop, LOOP_SHARE, 1, deaths=DEATHS)
        began_s = time.process_time()
        traffic = steady(calls, TOTAL, Lengths(CALL_S), 0)
        task = FleetTask(load, result.limits, cores, fleet, traffic, gateway_rank, None, REFUSED, 0)
        simulation = FleetSimulation(task)
        machines = round(simulation.fewest().machines)
        middle_s = time.process_time()
        answer = simulation.fixed(machines)
        name = f"{result.profile}, {calls:,} calls at a time, {cores} cores, {best} workers"
        yield plain(f"{name}: machines", machines, "")
        yield plain(f"{name}: refused", answer.refused_share * 100, "%", 2)
        for percentile, value_ms in (("p50", answer.p50_ms), ("p95", answer.p95_ms), ("p99", answer.p99_ms)):
            if value_ms is not None:
                yield plain(f"{name}: voice to voice {percentile}", value_ms, "ms")
        yield plain(f"{name}: calls on machines that died", answer.interrupted, "")
        yield plain(f"{name}: of them lost", answer.lost, "")
        yield plain(f"{name}: time to find the machines", middle_s - began_s, "s")
        yield at_most(f"{name}: time of one simulation", round(time.process_time() - middle_s, 1), MOST_S, "s")
