"""`voiceagent bench load` on a real server and real calls; and its judgement of steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.capacity.loads import SERVER, TURN, step
from tests.cli.conftest import Outcome, voiceagent
from voiceagent.capacity.load_result import LoadResult, read_load
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import StageLimits
from voiceagent.load.ramp import steps_to
from voiceagent.load.watched_server import WatchedServer, read_metrics

__all__ = ["voiceagent"]
Run = Callable[..., Outcome]
LIMITS = StageLimits(350, 950, 1700)


def test_calls_are_made_and_measured(voiceagent: Run, tmp_path: Path) -> None:
    out = tmp_path / "load.json"
    short = ("--hold", "9", "--settle", "1", "--turns", "1", "--pause", "0", "--say", "How are you?")
    outcome = voiceagent("bench", "load", "--calls", "2", "--profile", "embedded", *short, "--format", "json", "--out", str(out))
    assert outcome.code == 1  # so few turns say nothing
    found = read_load(out)
    assert [one.calls for one in found.steps] == [2]
    last = found.steps[-1]
    assert last.turns, last.failed
    assert not last.refused
    assert last.turns[0].wait
    assert {"loop", "stt-0", "language-model"} <= set(last.server.threads)
    assert last.server.shares["cores"] > 0
    assert last.callers_cores > 0
    assert "20 that a p95 needs" in outcome.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--calls", "0"), "expected numbers from 1"),
        (("--calls", "1,two"), "expected numbers from 1"),
        (("--calls", "1", "--url", "http://127.0.0.1:1", "--profile", "embedded"), "--url calls a server that runs"),
        (("--calls", "1", "--out", "x.json"), "--out needs --format json"),
        (("--calls", "1", "--url", "http://127.0.0.1:1"), "no server there"),
        (("--calls", "1", "--speech", "."), "in which somebody speaks"),
    ],
)
def test_wrong_input_is_told_in_a_line(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = voiceagent("bench", "load", *options)
    assert outcome.code in (1, 2)
    assert message in outcome.err


def test_steps_of_a_ramp() -> None:
    assert steps_to((16,), ramp=True) == (2, 4, 6, 8, 10, 12, 14, 16)
    assert steps_to((3,), ramp=True) == (1, 2, 3)
    assert steps_to((6, 1, 3), ramp=False) == (1, 3, 6)


def test_a_step_is_within_the_budget_or_says_why_not() -> None:
    assert step(4).misses(LIMITS) == []
    slow = step(4, [msgspec.structs.replace(TURN, voice_to_voice_ms=2000)] * 30)
    assert slow.misses(LIMITS) == ["p50 2000 ms, over 350", "p95 2000 ms, over 950"]
    few = msgspec.structs.replace(step(4, [TURN] * 5), refused=["no"], gaps=0.02)
    assert [line.split(";")[0] for line in few.misses(LIMITS)] == [
        "only 5 turns of the 20 that a p95 needs",
        "1 calls refused",
        "2.0% of the audio came too late, over 1%",
    ]


def test_the_highest_step_has_none_below_it_that_misses() -> None:
    slow = step(2, [msgspec.structs.replace(TURN, voice_to_voice_ms=2000)] * 30)
    limits = {"p50": 350.0, "p95": 950.0, "p99": 1700.0}
    found = LoadResult("1", "http://here", "embedded", "webrtc", True, 8, 2.0, limits, [step(1), slow, step(3)])
    assert found.highest == 1


def test_what_calls_were_refused_for_binds() -> None:
    full = msgspec.structs.replace(SERVER, shares={"cores": 0.9, "places": 1.0, "event loop": 0.4}, refused={"server_full": 3})
    assert [name for name, _ in msgspec.structs.replace(step(4), server=full).binding()] == ["places", "cores", "event loop"]
    assert step(4).binding()[0][0] == "cores"


def test_metrics_are_read_with_their_label() -> None:
    found = read_metrics('# TYPE a counter\na_total{thread="loop"} 2.5\n# TYPE b gauge\nb 3\n')
    assert found == {("a_total", "loop"): 2.5, ("b", ""): 3.0}


def test_a_file_that_is_no_load_test_is_told_in_a_line(voiceagent: Run, tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    path.write_text(json.dumps({"steps": "none"}))
    outcome = voiceagent("plan", "--measured", str(path))
    assert outcome.code == 1
    assert "is no result of `voiceagent bench load" in outcome.err


def test_the_metrics_of_several_workers_are_taken_together() -> None:
    lines = [
        f'{name}{{worker="{worker}"{label}}} {value}'
        for name, label, values in (
            ("voiceagent_cpu_seconds_total", ',thread="loop"', (2.0, 3.0)),
            ("voiceagent_calls_refused_total", ',reason="busy"', (1.0, 0.0)),
            ("voiceagent_call_places", "", (8.0, 8.0)),
            ("voiceagent_cores", "", (4.0, 4.0)),
            ("voiceagent_pressure", "", (0.2, 0.6)),
        )
        for worker, value in enumerate(values, start=1)
    ]
    lines.append('voiceagent_cpu_seconds_total{worker="front",thread="loop"} 1.0')
    found = read_metrics("\n".join(lines) + "\n")
    assert found.workers == 2
    assert found["voiceagent_cpu_seconds_total", "loop"] == 6.0
    assert found["voiceagent_calls_refused_total", "busy"] == 1.0
    assert found["voiceagent_call_places", ""] == 16.0
    assert found["voiceagent_cores", ""] == 4.0
    assert found["voiceagent_pressure", ""] == 0.6
    assert read_metrics("voiceagent_cores 4.0\n").workers == 1


async def test_the_budget_is_asked_for_by_a_clients_key() -> None:
    """A key of metrics opens nothing else."""
    presented: dict[str, str] = {}

    async def answer(request: web.Request) -> web.Response:
        presented[request.path] = request.headers["Authorization"]
        return web.Response(status=403)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server, WatchedServer(str(server.make_url("")), "metrics-key", "client-key") as watched:
        with pytest.raises(MediaError, match="--token"):
            await watched.limits()
        with pytest.raises(MediaError, match="--metrics-token"):
            await watched.use(0.0)
    assert presented == {"/v1/voiceagent/budgets": "Bearer client-key", "/metrics": "Bearer metrics-key"}
