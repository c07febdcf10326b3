"""Holds what `voiceagent plan --measured` simulates against what `voiceagent bench load` measures: from the calls of the smallest
step the waits of all steps are simulated, the callers' own work on the same machine counted."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure, at_most, plain
from bench.program import ROOT
from bench.real import BUNDLED
from voiceagent.capacity.fleet import LOOP_SHARE
from voiceagent.capacity.fleet_calls import Fleet, run_fleet
from voiceagent.capacity.fleet_waits import fleet_waits_ms
from voiceagent.capacity.load_result import LoadResult, read_load
from voiceagent.capacity.queueing import Arrivals, Workload, measured, simulate, workload
from voiceagent.capacity.traffic import constant
from voiceagent.capacity.wait_curve import WaitCurve
from voiceagent.latency.spans import Stage

CALLS = (1, 3, 6)
TURNS = 60
TURN_S = 8.0
"""About the time from one turn of a call to its next."""
TURNS_OF_FLEET = 8000
SAMPLES = 1000
SIMULATED = {Stage.STT_PARTIAL, Stage.STT_FINAL, Stage.LLM_TTFT, Stage.TTS_FIRST_AUDIO}
WITHIN_PERCENT = 15.0
NOTES = """
The step with the fewest calls gives the turns, from which the waits of every step are simulated; the largest steps are
predictions. *Off* is how far the simulation is from the measurement, which is on received audio. The callers run on the same
machine, in processes of their own, and their work counts in the simulation. *Fleet* is the simulation of a fleet of one machine
with as many calls (`plan --machines`), which takes the waits off a table. *90 % of samples* is the range in which nine of ten
samples of as many turns have that percentile. The turns stand in `loads/prediction.json`, from which a test simulates again.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about 25 minutes."""
    calls = tuple(options.calls or CALLS)
    hold_s = (options.turns or TURNS) * TURN_S
    with tempfile.TemporaryDirectory(prefix="voiceagent-prediction-") as folder:
        path = Path(folder) / "load.json"
        steps = ("--calls", ",".join(map(str, calls)), "--hold", f"{hold_s:g}", "--profile", options.profile or BUNDLED)
        command = (sys.executable, "-m", "voiceagent", "bench", "load", *steps, "--format", "json", "--out", str(path))
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        await child.wait()
        found = read_load(path)
    kept = options.out / "loads" / "prediction.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(msgspec.json.encode(slim(found)) + b"\n")
    return list(_figures(found))


def slim(result: LoadResult) -> LoadResult:
    """The result without what no simulation reads."""
    steps = [
        msgspec.structs.replace(
            step,
            turns=[
                msgspec.structs.replace(turn, spans=[span for span in turn.spans if span[0] in SIMULATED]) for turn in step.turns
            ],
        )
        for step in result.steps
    ]
    return msgspec.structs.replace(result, steps=steps)


def fleet_waits(load: Workload, calls: int, cores: int) -> NDArray[np.float64]:
    """The waits in ms of a fleet of one machine with always so many calls."""
    end_s = TURNS_OF_FLEET * load.cycle_s / calls
    fleet = Fleet(1, 1, calls, load.loop, LOOP_SHARE, 1)
    run = run_fleet(fleet, constant(calls, end_s), lambda worker: worker.calls / worker.places, 0)
    return fleet_waits_ms(run, WaitCurve(load, cores=cores, workers=1, most_calls=calls), 0)


def sampled(waits_ms: Sequence[float], percent: float) -> tuple[float, float]:
    """The range in which nine of ten samples with as many waits have that percentile (bootstrap)."""
    dice = np.random.default_rng(0)
    found = np.percentile(dice.choice(np.asarray(waits_ms), (SAMPLES, len(waits_ms))), percent, axis=1)
    return float(np.percentile(found, 5)), float(np.percentile(found, 95))


def _figures(result: LoadResult) -> Iterator[Figure]:
    load = workload(result, with_callers=result.callers_here)
    for step in result.steps:
        label = f"{result.profile}, {step.calls} call{'' if step.calls == 1 else 's'}"
        found = simulate(load, Arrivals(step.calls, steady=True), turns=8000)
        simulated = (found.mean_ms, found.percentile_ms(50), found.percentile_ms(95))
        yield plain(f"{label}: turns", len(step.turns), "")
        yield at_most(f"{label}: calls refused, calls or turns that failed", len(step.refused) + len(step.failed), 0, "")
        yield plain(f"{label}: cores of the server", step.server.cores_used, "", 2)
        yield plain(f"{label}: cores of the callers", step.callers_cores, "", 2)
        waits_ms = [turn.voice_to_voice_ms for turn in step.turns]
        low_ms, high_ms = sampled(waits_ms, 95)
        yield plain(f"{label}: voice to voice p95, 90 % of samples from", low_ms, "ms")
        yield plain(f"{label}: voice to voice p95, 90 % of samples to", high_ms, "ms")
        fleet_ms = fleet_waits(load, step.calls, load.cores)
        for percent in (50, 95):
            is_ms = float(np.percentile(fleet_ms, percent))
            yield plain(f"{label}: voice to voice p{percent}, fleet", is_ms, "ms")
            off = abs(is_ms / float(np.percentile(waits_ms, percent)) - 1) * 100
            yield at_most(f"{label}: voice to voice p{percent}, fleet, off", round(off, 1), WITHIN_PERCENT, "%")
        for name, was_ms, is_ms in zip(("mean", "p50", "p95"), measured(step), simulated, strict=True):
            yield plain(f"{label}: voice to voice {name}, measured", was_ms, "ms")
            yield plain(f"{label}: voice to voice {name}, simulated", is_ms, "ms")
            yield at_most(f"{label}: voice to voice {name}, off", round(abs(is_ms / was_ms - 1) * 100, 1), WITHIN_PERCENT, "%")
