"""The attack tests and their figures: `tests/attacks` on real servers, as in `make test-attacks` (a quarter of an hour)."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.figures import FILE_VARIABLE
from voiceagent.evaluation.check import Figure, at_most

ROOT = Path(__file__).resolve().parents[1]


async def measure(_: argparse.Namespace) -> Iterator[Figure]:
    """Of figures that several tests take, the worst."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as folder:
        file = Path(folder) / "figures.jsonl"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pytest", "-q", "tests/attacks", cwd=ROOT, env={**os.environ, FILE_VARIABLE: str(file)}
        )
        failed = await process.wait()
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return _worst([Figure(**json.loads(line)) for line in lines], failed)


def _worst(figures: list[Figure], failed: int) -> Iterator[Figure]:
    by_name: dict[str, Figure] = {}
    for figure in figures:
        known = by_name.setdefault(figure.name, figure)
        larger = max(known, figure, key=lambda one: one.value)
        by_name[figure.name] = larger if figure.target.startswith("≤") else known if larger is figure else figure
    yield from by_name.values()
    yield at_most("exit code of the attack tests", failed, 0, "")
