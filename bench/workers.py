"""Calls within the budget with one worker and with several: `voiceagent serve --workers N`, and `voiceagent bench load` with more
and more calls. Server and callers run on cores of their own."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.harness import Figure, at_least, plain
from bench.model_service import pss_mb
from bench.namespace import ADDRESS, namespace
from bench.prediction import TURN_S
from bench.program import ROOT, answering
from bench.real import BUNDLED
from voiceagent.capacity.load_result import LoadResult, read_load
from voiceagent.server.access.key_ring import KEYS_VARIABLE, VARIABLES

WORKERS = (1, 2, 3)
LADDER = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48)
"""Calls at a time; it ends after two steps that are not within the budget."""
HOLD_S = 60.0
LINEAR = 0.9
"""The calls a core with several workers, of those with one."""
NOTES = """
*Calls within the budget* is the highest step that was, and all below it. Where a machine has more cores than workers, each worker
has one, and the callers have the others. Where it has fewer, the server has all but the last, which is the callers'. Then the
workers share cores, and the figure says what several processes cost, not how far more cores carry. *A core* is one of those that
the server could use. With `--namespaces` the server has a network namespace of its own, which the callers reach by a pair of
virtual interfaces; else all run on loopback. *Memory* is that of all processes after the last step; what they share counts once.
"""


def split(cores: list[int], workers: int) -> tuple[list[int], list[int]]:
    """The cores of the server and those of the callers. With one core both have it."""
    if len(cores) == 1:
        return cores, cores
    ours = min(workers, len(cores) - 1)
    return cores[:ours], cores[ours:]


def result_name(options: argparse.Namespace) -> str:
    """The name of the result: that of another profile says so."""
    profile = options.profile or BUNDLED
    return "workers" if profile == BUNDLED else f"workers_{profile}"


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about an hour."""
    figures: list[Figure] = []
    first = 0.0
    for workers in WORKERS:
        server, callers = split(sorted(os.sched_getaffinity(0)), workers)
        result, memory_mb = await _load(workers, server, callers, options)
        figures += _figures(result, workers, len(server), memory_mb)
        each = result.highest / len(server)
        if workers == WORKERS[0]:
            first = each
        elif first:
            label = f"{result.profile}, {workers} workers: calls within the budget a core, of one worker's"
            figures.append(at_least(label, round(each / first, 2), LINEAR, ""))
    return figures


async def _load(workers: int, server: list[int], callers: list[int], options: argparse.Namespace) -> tuple[LoadResult, float]:
    """The calls, and the memory of the server after them, in MB."""
    steps = tuple(options.calls or LADDER)
    hold_s = options.turns * TURN_S if options.turns else HOLD_S
    more = ["--profile", options.profile or BUNDLED, "--workers", str(workers), "--max-calls", str(2 * max(steps)), "--port", "0"]
    with tempfile.TemporaryDirectory(prefix="voiceagent-workers-") as name, ExitStack() as stack:
        folder = Path(name)
        before: tuple[str, ...] = ()
        if options.namespaces:
            before = stack.enter_context(namespace())
            more += ["--host", ADDRESS]
        keys = {variable: secrets.token_urlsafe(32) for variable in (KEYS_VARIABLE, VARIABLES["metrics"])}
        command = (*before, sys.executable, "-m", "voiceagent", "serve", *more)
        with _on(server):
            async with answering(folder / "server.log", *command, VOICEAGENT_DATA=name, **keys) as (url, process):
                out = folder / "load.json"
                asked = ("--url", url, "--calls", ",".join(map(str, steps)), "--ramp", "--hold", f"{hold_s:g}")
                calling = (sys.executable, "-m", "voiceagent", "bench", "load", *asked, "--format", "json", "--out", str(out))
                presented = {"VOICEAGENT_KEY": keys[KEYS_VARIABLE], "VOICEAGENT_METRICS_KEY": keys[VARIABLES["metrics"]]}
                with _on(callers):
                    child = await asyncio.create_subprocess_exec(*calling, cwd=ROOT, env={**os.environ, **presented})
                await child.wait()
                memory_mb = sum(pss_mb(each.pid) for each in (process, *process.children(recursive=True)))
        return read_load(out), memory_mb


@contextmanager
def _on(cores: list[int]) -> Iterator[None]:
    """Processes that are started meanwhile run on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _figures(result: LoadResult, workers: int, cores: int, memory_mb: float) -> Iterator[Figure]:
    label = f"{result.profile}, {workers} worker{'' if workers == 1 else 's'}"
    yield plain(f"{label}: cores of the server", cores, "")
    yield plain(f"{label}: calls within the budget", result.highest, "")
    yield plain(f"{label}: memory of all its processes", memory_mb, "MB")
    for step in result.steps:
        if step.waits is None:
            continue
        here = f"{label}, {step.calls} calls"
        yield plain(f"{here}: turns", len(step.turns), "")
        yield plain(f"{here}: voice to voice p50", step.waits.p50_ms, "ms")
        yield plain(f"{here}: voice to voice p95", step.waits.p95_ms, "ms")
        yield plain(f"{here}: calls refused", len(step.refused), "")
        yield plain(f"{here}: calls or turns that failed", len(step.failed), "")
        yield plain(f"{here}: cores used by the server", step.server.cores_used, "", 2)
        yield plain(f"{here}: cores used by the callers", step.callers_cores, "", 2)
        if step.server.workers != workers:
            yield at_least(f"{here}: workers that told of themselves", step.server.workers, workers, "")
