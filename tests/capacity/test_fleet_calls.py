"""All calls of a fleet, event by event: placing, refusing, stale statuses, machines that die, and scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from voiceagent.capacity.fleet_calls import Fleet, FleetRun, SeenWorker, run_fleet
from voiceagent.capacity.traffic import Lengths, Traffic, burst, constant, day, day_peak, given, lengths_of, steady

LENGTHS = Lengths(60.0)
FLEET = Fleet(machines=4, workers=2, places=5, loop=0.03, loop_most=0.7, started=4)


def by_calls(worker: SeenWorker) -> float:
    return worker.calls / worker.places


def by_number(worker: SeenWorker) -> float:
    return 0.0


def erlang(calls: float, places: int) -> float:
    blocked = 1.0
    for number in range(1, places + 1):
        blocked = calls * blocked / (number + calls * blocked)
    return blocked


@pytest.mark.parametrize(("calls", "machines"), [(4.0, 1), (30.0, 4)])
def test_calls_are_refused_as_erlang_says(calls: float, machines: int) -> None:
    fleet = replace(FLEET, machines=machines, started=machines, workers=1, places=6, status_s=1e-6)
    run = run_fleet(replace(fleet, places=6 if machines == 1 else 9), steady(calls, 20_000, LENGTHS, 1), by_calls, 1)
    assert run.offered == 20_000
    assert run.refused_share == pytest.approx(erlang(calls, 6 if machines == 1 else 36), abs=0.015)


def test_every_call_is_on_a_worker_for_as_long_as_it_lasts() -> None:
    run = run_fleet(FLEET, steady(10.0, 2000, LENGTHS, 1), by_calls, 1)
    on_s = float(np.sum(np.asarray(run.parts.end_s) - np.asarray(run.parts.begin_s)))
    assert run.refused == 0
    assert on_s / run.end_s == pytest.approx(10.0, rel=0.1)
    assert max(run.of_worker.calls) <= FLEET.places
    assert max(run.of_machine.calls) <= FLEET.places * FLEET.workers
    assert min(run.of_worker.calls) == 0


def test_the_least_loaded_worker_gets_the_call() -> None:
    def most_at_once(run: FleetRun) -> int:
        return max(run.of_worker.calls)

    traffic = steady(10.0, 2000, LENGTHS, 1)
    assert most_at_once(run_fleet(FLEET, traffic, by_calls, 1)) < most_at_once(run_fleet(FLEET, traffic, by_number, 1))


def test_gateways_with_old_statuses_send_calls_to_full_workers() -> None:
    traffic = steady(30.0, 5000, LENGTHS, 1)
    fresh = run_fleet(replace(FLEET, status_s=0.01), traffic, by_calls, 1)
    old = run_fleet(replace(FLEET, status_s=20.0, gateways=3), traffic, by_calls, 1)
    assert fresh.sent_back <= 5
    assert old.sent_back > 50
    assert old.refused_share > fresh.refused_share


def test_calls_of_a_dead_machine_go_on_elsewhere() -> None:
    run = run_fleet(replace(FLEET, deaths=3), steady(12.0, 3000, LENGTHS, 1), by_calls, 1)
    assert run.interrupted > 0
    assert run.lost == 0
    assert len(run.resumed_s) == run.interrupted
    assert set(run.resumed_s) == {FLEET.resume_s}
    assert run.machine_s == pytest.approx(4 * run.end_s)


def test_calls_of_a_dead_machine_are_lost_where_there_is_no_room() -> None:
    run = run_fleet(replace(FLEET, machines=1, started=1, deaths=1), constant(10, 3000.0), by_calls, 1)
    assert run.interrupted == run.lost == 10
    fleet = replace(FLEET, machines=1, started=1, deaths=1, machine_start_s=5.0, worker_start_s=5.0)
    assert run_fleet(fleet, constant(10, 3000.0), by_calls, 1).lost == 0


def test_a_dead_machine_takes_no_calls_until_it_has_started_again() -> None:
    fleet = replace(FLEET, machines=1, started=1, deaths=1, machine_start_s=200.0, worker_start_s=20.0)
    run = run_fleet(fleet, steady(2.0, 1000, LENGTHS, 3), by_calls, 1)
    begins = np.sort(np.asarray(run.parts.begin_s))
    assert float(np.max(np.diff(begins))) >= 220.0
    assert run.refused > 0


def test_scaling_follows_the_calls_and_ends_none() -> None:
    def scale(workers: Sequence[SeenWorker], now_s: float) -> tuple[int, Sequence[int]]:
        serving = [one for one in workers if not one.is_draining]
        free = sum(one.places - one.calls for one in serving)
        if free < 10:
            return 1, ()
        idle = [one.number for one in serving if one.is_ready and one.calls <= 1]
        return 0, idle[:1] if free > 20 else ()

    traffic = day(30.0, Lengths(180.0), 1)
    run = run_fleet(replace(FLEET, machines=8, started=1, machine_start_s=60.0), traffic, by_calls, 1, scale)
    assert run.refused_share < 0.01
    assert run.interrupted == run.lost == 0
    assert 3 <= run.most_machines <= 6
    assert run.machine_s < 0.9 * run.most_machines * run.end_s


def test_a_seed_is_a_simulation() -> None:
    traffic = steady(30.0, 1000, LENGTHS, 1)
    once, again, other = (run_fleet(FLEET, traffic, by_calls, seed) for seed in (1, 1, 2))
    assert list(once.of_worker.place) == list(again.of_worker.place)
    assert list(once.of_worker.place) != list(other.of_worker.place)


# --- traffic ---


def calls_at(traffic: Traffic, at_s: float) -> int:
    began = traffic.starts_s <= at_s
    return int(np.sum(began & (traffic.starts_s + traffic.lengths_s > at_s)) + np.sum(traffic.left_s > at_s))


def test_a_day_has_its_calls_and_its_peak() -> None:
    peak = day_peak(20_000, LENGTHS)
    traffic = day(peak, LENGTHS, 0)
    assert len(traffic.starts_s) == pytest.approx(20_000, rel=0.01)
    assert peak <= traffic.peak_calls < 2 * peak
    assert calls_at(traffic, 10.1 * 3600) == pytest.approx(peak, rel=0.4)
    assert calls_at(traffic, 3 * 3600) < peak / 5


def test_a_burst_has_as_many_calls_as_it_is_told() -> None:
    traffic = burst(20.0, 5000, LENGTHS, 0, times=5.0, lasts_s=120.0)
    middle_s = traffic.end_s / 2
    inside = np.sum(np.abs(traffic.starts_s - middle_s) < 60)
    assert inside == pytest.approx(20 / 60 * 5 * 120, rel=0.25)
    assert len(traffic.starts_s) == 5000


def test_calls_that_are_up_at_first_are_as_many_as_later() -> None:
    for lengths in (LENGTHS, lengths_of([5.0, 5.0, 5.0, 225.0])):
        traffic = steady(200.0, 5000, lengths, 0)
        assert calls_at(traffic, 0.0) == pytest.approx(200, rel=0.25)
        assert calls_at(traffic, traffic.end_s / 2) == pytest.approx(200, rel=0.25)


def test_given_arrivals_begin_at_the_first() -> None:
    traffic = given([500.0, 100.0, 300.0], lengths_of([1000.0]), 0)
    assert list(traffic.starts_s) == [0.0, 200.0, 400.0]
    assert traffic.peak_calls == 3
    assert traffic.mean_calls == pytest.approx((400 + 200) / 400)
