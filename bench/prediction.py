"""Holds what `voiceagent plan --measured` simulates against what `voiceagent bench load` measures: from the calls of the smallest
step the waits of all steps are simulated, the callers' own work on the same machine counted."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.harness import Figure, at_most, plain
from bench.program import ROOT
from bench.real import BUNDLED
from voiceagent.capacity.load_result import LoadResult, read_load
from voiceagent.capacity.queueing import Arrivals, measured, simulate, workload

CALLS = (1, 3, 6)
TURNS = 60
TURN_S = 8.0
"""About the time from one turn of a call to its next."""
WITHIN_PERCENT = 15.0
NOTES = """
The step with the fewest calls gives the turns, from which the waits of every step are simulated; the largest steps are
predictions. *Off* is how far the simulation is from the measurement, which is on received audio. The callers run on the same
machine, in processes of their own, and their work counts in the simulation.
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
        return list(_figures(read_load(path)))


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
        for name, was_ms, is_ms in zip(("mean", "p50", "p95"), measured(step), simulated, strict=True):
            yield plain(f"{label}: voice to voice {name}, measured", was_ms, "ms")
            yield plain(f"{label}: voice to voice {name}, simulated", is_ms, "ms")
            yield at_most(f"{label}: voice to voice {name}, off", round(abs(is_ms / was_ms - 1) * 100, 1), WITHIN_PERCENT, "%")
