"""The machines that calls need, and what their callers wait for."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from bench.harness import RESULTS_DIR
from bench.prediction import WITHIN_PERCENT, fleet_waits, sampled
from tests.capacity.loads import load_result, step
from voiceagent.capacity.fleet import LOOP_SHARE
from voiceagent.capacity.fleet_calls import Fleet, SeenWorker
from voiceagent.capacity.fleet_plan import FleetSimulation, FleetTask, beyond_measured
from voiceagent.capacity.load_result import read_load
from voiceagent.capacity.queueing import Arrivals, Workload, simulate, workload
from voiceagent.capacity.traffic import Lengths, constant, steady
from voiceagent.capacity.wait_curve import WaitCurve
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import StageLimits

LIMITS = StageLimits(350, 950, 1700)
LOADS = sorted((RESULTS_DIR / "loads").glob("*.json"))


@pytest.fixture(scope="module")
def load() -> Workload:
    return workload(load_result(step(1), step(3)))


def by_calls(worker: SeenWorker) -> float:
    return worker.calls / worker.places


def task(load: Workload, calls: float, total: int, *, places: int = 8, workers: int = 1, cores: int = 2) -> FleetTask:
    fleet = Fleet(1, workers, places, load.loop, LOOP_SHARE, 1)
    return FleetTask(load, LIMITS, cores, fleet, steady(calls, total, Lengths(60.0), 0), by_calls, 0.5, 0.01, 0)


def test_one_machine_waits_as_the_network_of_queues_does(load: Workload) -> None:
    """Calls come at random in both, here to 9 places."""
    answer = FleetSimulation(task(load, 6.0, 6000, places=9)).fixed(1)
    found = simulate(load, Arrivals(6.0, call_s=60.0, places=9), turns=12_000)
    assert answer.p50_ms == pytest.approx(found.percentile_ms(50), rel=0.05)
    assert answer.p95_ms == pytest.approx(found.percentile_ms(95), rel=0.1)
    assert answer.refused_share == pytest.approx(found.refused / found.offered, abs=0.03)


def test_always_as_many_calls_wait_as_they_do_alone(load: Workload) -> None:
    for calls in (1, 8):
        found = simulate(load, Arrivals(calls, steady=True), turns=6000)
        waits_ms = fleet_waits(load, calls, load.cores)
        assert float(np.percentile(waits_ms, 50)) == pytest.approx(found.percentile_ms(50), rel=0.05)
        assert float(np.percentile(waits_ms, 95)) == pytest.approx(found.percentile_ms(95), rel=0.1)


def mean_ms(curve: WaitCurve, own: int, beside: int) -> float:
    return float(np.mean(curve.waits_ms(np.full(200, own), np.full(200, beside), np.linspace(0, 1, 200, endpoint=False))))


def test_between_simulated_loads_waits_lie_between(load: Workload) -> None:
    curve = WaitCurve(load, cores=2, workers=2, most_calls=12)
    at_eight, at_nine, at_ten = (mean_ms(curve, own, 0) for own in (8, 9, 10))
    assert at_eight < at_nine < at_ten
    assert at_nine == pytest.approx((at_eight + at_ten) / 2)


def test_workers_that_share_cores_wait_for_each_other(load: Workload) -> None:
    few, many = (WaitCurve(load, cores=cores, workers=3, most_calls=8) for cores in (1, 16))
    assert mean_ms(few, 8, 0) < mean_ms(few, 8, 16)
    assert mean_ms(many, 8, 16) == pytest.approx(mean_ms(many, 8, 0), rel=0.02)


def test_the_fewest_machines_refuse_few_enough_calls_and_one_less_does_not(load: Workload) -> None:
    simulation = FleetSimulation(task(load, 12.0, 4000, places=3))
    fewest = simulation.fewest()
    assert fewest.refused_share <= 0.01 < simulation.fixed(round(fewest.machines) - 1).refused_share
    assert fewest.within
    assert fewest.price_an_hour == fewest.machines * 0.5
    assert fewest.price_a_call == pytest.approx(fewest.machines * 0.5 * 60 / 3600 / 12, rel=0.1)
    assert (fewest.p50_ms or 0) <= (fewest.p95_ms or 0) <= (fewest.p99_ms or 0)


def test_fleets_too_large_to_simulate_are_refused(load: Workload) -> None:
    with pytest.raises(ConfigError, match="30,000 machines of 1 workers are more than the 20,000"):
        FleetSimulation(task(load, 30.0, 100)).fixed(30_000)


def test_ten_thousand_calls_take_a_tenth_of_what_a_hundred_thousand_may(load: Workload) -> None:
    """100,000 may take a minute of one core."""
    began_s = time.process_time()
    answer = FleetSimulation(task(load, 1000.0, 10_000, places=4)).fixed(290)
    assert answer.offered == 10_000
    assert time.process_time() - began_s < 6.0


def test_what_lies_beyond_the_load_test_is_told() -> None:
    result = load_result(step(1), step(3))
    told = " ".join(beyond_measured(result, cores=16, workers=2, places=9))
    assert "up to 9 calls here, and had at most 3" in told
    assert "2 workers share a machine here; the load test had one" in told
    assert "16 cores here, and had 2" in told
    assert beyond_measured(result, cores=2, workers=1, places=3) == ["the load test used at most 0.12 cores"]


def test_measured_loads_are_simulated() -> None:
    """p50 and p95 of each step are at most 15 % off, or within what samples of as many turns differ by."""
    for path in LOADS:
        result = read_load(path)
        load = workload(result, with_callers=result.callers_here)
        assert len(result.steps) >= 3
        for one in result.steps:
            waits_ms = [turn.voice_to_voice_ms for turn in one.turns]
            found = fleet_waits(load, one.calls, load.cores)
            for percent in (50, 95):
                was_ms, is_ms = float(np.percentile(waits_ms, percent)), float(np.percentile(found, percent))
                low_ms, high_ms = sampled(waits_ms, percent)
                assert abs(is_ms / was_ms - 1) * 100 <= WITHIN_PERCENT or low_ms <= is_ms <= high_ms, (path, one.calls, percent)


def test_calls_that_never_end_are_as_many_as_they_were(load: Workload) -> None:
    chosen = replace(task(load, 1.0, 100), traffic=constant(5, 600.0))
    answer = FleetSimulation(chosen).fixed(1)
    assert (answer.offered, answer.most_calls, answer.refused_share) == (0, 5, 0.0)
