"""`voiceagent plan --measured … --machines …`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.capacity.loads import load_result, step
from tests.cli.conftest import Outcome
from voiceagent.capacity.fleet_calls import FULL, SeenWorker
from voiceagent.cli.fleet_simulation import cluster_scale, gateway_rank
from voiceagent.cluster.autoscale import ScaleSettings

Run = Callable[..., Outcome]


@pytest.fixture
def load(tmp_path: Path) -> str:
    path = tmp_path / "load.json"
    path.write_bytes(msgspec.json.encode(load_result(step(1), step(3))))
    return str(path)


def test_fleets_are_told_as_text(voiceagent: Run, load: str) -> None:
    few = ("--calls", "12", "--total", "1000", "--call-s", "60", "--places", "3", "--deaths", "2", "--price", "0.5")
    outcome = voiceagent("plan", "--measured", load, "--machines", "fewest", *few)
    assert outcome.code == 0, outcome.err
    assert "within" in outcome.out
    assert "2 machines died under" in outcome.out
    assert "Beyond the load test: the load test used at most" in outcome.out


def test_fleets_are_told_as_json(voiceagent: Run, load: str) -> None:
    few = ("--calls", "8", "--total", "1000", "--call-s", "60", "--workers", "2", "--places", "2", "--price", "0.5", "--json")
    outcome = voiceagent("plan", "--measured", load, "--machines", "1,5", *few)
    told = json.loads(outcome.out)
    short, enough = told["fleets"]
    assert (short["machines"], enough["machines"]) == (1, 5)
    assert short["refused_share"] > 0.01 >= enough["refused_share"]
    assert not short["within"]
    assert enough["within"]
    assert enough["price_an_hour"] == 2.5
    assert enough["p50_ms"] <= enough["p95_ms"] <= enough["p99_ms"]
    assert told["workers"] == 2
    assert told["beyond_measured"]


def test_a_scaled_fleet_runs_fewer_machines_than_its_peak(voiceagent: Run, load: str) -> None:
    day = ("--traffic", "day", "--total", "5000", "--places", "3", "--idle-places", "2,20")
    outcome = voiceagent("plan", "--measured", load, "--machines", "auto", *day, "--json")
    tight, roomy = json.loads(outcome.out)["fleets"]
    assert tight["machines"] < tight["most_machines"]
    assert roomy["machines"] > tight["machines"]
    assert roomy["refused_share"] <= tight["refused_share"]
    assert roomy["refused_share"] < 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--machines", "some"), "'some'; expected `fewest`, `auto` or numbers from 1"),
        (("--machines", "0"), "numbers from 1"),
        (("--machines", "fewest", "--calls", "9000000"), "expected numbers from 1"),
        (("--machines", "30000"), "numbers from 1 to 20000"),
        (("--machines", "20000", "--workers", "9"), "more than the 20,000 workers"),
        (("--machines", "2", "--traffic", "day", "--calls", "1000000"), "more than the 1,000,000"),
    ],
)
def test_wrong_input_is_told_in_a_line(voiceagent: Run, load: str, options: tuple[str, ...], message: str) -> None:
    outcome = voiceagent("plan", "--measured", load, *options)
    assert outcome.code in (1, 2)
    assert message in outcome.err


def test_lengths_are_read_from_a_file(voiceagent: Run, load: str, tmp_path: Path) -> None:
    lengths = tmp_path / "lengths.txt"
    few = ("--machines", "9", "--calls", "10", "--total", "300", "--places", "3")
    lengths.write_text("30\n90\n300\n")
    assert voiceagent("plan", "--measured", load, *few, "--lengths", str(lengths)).code == 0
    lengths.write_text("long\n")
    assert "lengths.txt:1: 'long' is no length" in voiceagent("plan", "--measured", load, *few, "--lengths", str(lengths)).err


def test_machines_need_a_load_test(voiceagent: Run) -> None:
    outcome = voiceagent("plan", "--model", "qwen3-8b", "--gpu", "l40s", "--machines", "2")
    assert outcome.code == 2
    assert "--machines needs --measured" in outcome.err


def test_calls_are_placed_as_the_gateway_places_them() -> None:
    ranks = [gateway_rank(SeenWorker(1, calls, 8, level=calls * 0.03 / 0.7)) for calls in range(9)]
    assert ranks == sorted(ranks)
    assert ranks[-2] < FULL <= ranks[-1]
    assert gateway_rank(SeenWorker(1, 2, 8, level=0.9)) > gateway_rank(SeenWorker(2, 2, 8, level=0.1))
    assert gateway_rank(SeenWorker(1, 2, 8, level=1.1)) > FULL


def test_workers_are_started_and_drained_as_the_cluster_decides() -> None:
    scale = cluster_scale(ScaleSettings(max_workers=4, idle_places=2))
    full = [SeenWorker(0, 8, 8, 0.3)]
    assert scale(full, 0.0) == (1, ())
    idle = [SeenWorker(number, 0, 8, 0.0) for number in range(3)]
    decisions = [scale(idle, 100.0 * number)[1] for number in range(1, 6)]
    assert any(decisions)
