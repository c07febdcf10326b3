from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tests.capacity.loads import SERVER, TURN, load_result, step
from tests.cli.conftest import Outcome, voiceagent
from voiceagent.capacity.fleet import carried, places_for, places_of
from voiceagent.capacity.queueing import Arrivals, Workload, simulate, workload
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import StageLimits

__all__ = ["voiceagent"]
LIMITS = StageLimits(350, 950, 1700)


@pytest.fixture(scope="module")
def load() -> Workload:
    return workload(load_result(step(1), step(3)))


def test_a_call_alone_waits_as_it_was_measured(load: Workload) -> None:
    found = simulate(load, Arrivals(1, steady=True), turns=400)
    assert found.percentile_ms(50) == pytest.approx(300, abs=3)
    assert found.mean_ms == pytest.approx(300, abs=10)


def test_more_calls_wait_longer_and_more_cores_less(load: Workload) -> None:
    means = [simulate(load, Arrivals(calls, steady=True), turns=1500).mean_ms for calls in (2, 8, 14)]
    assert means == sorted(means)
    assert means[-1] > means[0] + 20
    assert simulate(load, Arrivals(14, steady=True), cores=16, turns=1500).mean_ms < means[-1]


def test_a_seed_is_a_simulation(load: Workload) -> None:
    once, again, other = (simulate(load, Arrivals(5), turns=300, seed=seed).waits_ms for seed in (1, 1, 2))
    assert once == again
    assert once != other


def test_one_thread_is_a_queue_with_one_server() -> None:
    """Deterministic jobs that come at random: the mean wait of M/D/1 is ρ s / 2 (1 - ρ)."""
    service_ms, calls = 100.0, 40
    spans = [("llm_ttft", 0.0, service_ms)]
    turn = msgspec.structs.replace(TURN, voice_to_voice_ms=service_ms, spans=spans, spoke_s=1.0, answered_s=3.0, wait={})
    use = 30 * service_ms / 1000 / 180  # of its thread while it was measured
    server = msgspec.structs.replace(SERVER, threads={"language-model": use}, cores_used=use)
    one = workload(load_result(step(1, [turn] * 30, server)))
    found = simulate(one, Arrivals(calls, steady=True), cores=64, turns=8000)
    cycle_s = 1.0 + found.mean_ms / 1000 + 3.0 + 2.0
    use = calls * service_ms / 1000 / cycle_s
    assert found.mean_ms - service_ms == pytest.approx(use * service_ms / 2 / (1 - use), rel=0.2)


def test_calls_beyond_the_places_are_refused_as_erlang_says(load: Workload) -> None:
    found = simulate(load, Arrivals(4.0, call_s=20.0, places=6), cores=64, turns=6000)
    assert found.refused / found.offered == pytest.approx(0.117, abs=0.03)


@pytest.mark.parametrize(("calls", "places"), [(10, 18), (100, 117), (1000, 1029)])
def test_places_are_those_of_erlangs_tables(calls: float, places: int) -> None:
    assert places_for(calls) == places


def test_places_of_given_arrivals_hold_their_rush() -> None:
    rng = np.random.default_rng(3)
    even = np.sort(rng.uniform(0, 36_000, 2000))
    rush = np.sort(np.concatenate([even, rng.uniform(10_000, 10_600, 400)]))
    mean, places = places_of(list(even), 180.0, 0)
    assert mean == pytest.approx(10, rel=0.1)
    assert places == pytest.approx(18, abs=4)
    assert places_of(list(rush), 180.0, 0)[1] > 80


def test_a_machine_carries_what_its_budget_and_its_loop_allow(load: Workload) -> None:
    few, many = carried(load, LIMITS, 2, 0), carried(load, LIMITS, 64, 0)
    assert 1 < few.calls < many.calls
    assert many.calls <= 0.7 / load.loop
    assert many.binds
    assert carried(load, StageLimits(100, 200, 300), 2, 0).calls == 0


def test_too_few_turns_are_refused() -> None:
    with pytest.raises(ConfigError, match="has 5 turns in its smallest step, expected 20"):
        workload(load_result(step(1, [TURN] * 5)))


def test_the_command_plans_machines(voiceagent: Callable[..., Outcome], tmp_path: Path) -> None:
    path, arrivals = tmp_path / "load.json", tmp_path / "arrivals.txt"
    path.write_bytes(msgspec.json.encode(load_result(step(1))))
    outcome = voiceagent("plan", "--measured", str(path), "--price", "0.5")
    assert outcome.code == 0
    assert "100,000" in outcome.out
    found = json.loads(voiceagent("plan", "--measured", str(path), "--calls", "10,1000", "--price", "0.5", "--json").out)
    first, second = found["rows"]
    assert second["machines"] * found["calls_a_machine"] >= second["places"] == 1029
    assert second["price"] == second["machines"] * 0.5
    assert first["p50_ms"] <= first["p95_ms"] <= first["p99_ms"]
    arrivals.write_text("\n".join(str(10 * number) for number in range(500)))
    assert voiceagent("plan", "--measured", str(path), "--arrivals", str(arrivals)).code == 0
    arrivals.write_text("1\nnoon\n")
    refused = voiceagent("plan", "--measured", str(path), "--arrivals", str(arrivals))
    assert refused.code == 1
    assert "arrivals.txt:2: 'noon'" in refused.err
