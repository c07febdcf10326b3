"""Figures that an attack's test holds to its promise. `make bench ARGS=attacks` gathers them for `bench/results/attacks.json`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from bench.harness import Figure, at_least, at_most

FILE_VARIABLE = "ATTACK_FIGURES"
"""Names the file to which each figure is added, a line of JSON each."""
MEASURING = FILE_VARIABLE in os.environ
"""Whether the benchmark runs the tests, alone on the machine."""
ROOM = 5.0
"""A test that shares the machine with others may take this many times longer than the benchmark may."""


def hold(*figures: Figure) -> None:
    """Write the figures down, then assert that each meets its target."""
    file = os.environ.get(FILE_VARIABLE)
    for figure in figures:
        print(f"{figure.name}: {figure.value:.4g} {figure.unit} (target {figure.target})")
        if file:
            with Path(file).open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(figure)) + "\n")
    missed = [figure for figure in figures if not figure.ok]
    assert missed == []


def within(name: str, value: float, limit: float, unit: str, *, usual: float = 0.0) -> Figure:
    """A time, of the clock on the wall or of a processor that others use. The benchmark holds it to `limit`. A test holds it to
    `ROOM` times that, or times what is `usual` on this machine without the attack, if that is more."""
    figure = at_most(name, value, limit, unit)
    return figure if MEASURING else replace(figure, ok=value <= max(limit, usual) * ROOM)


__all__ = ["FILE_VARIABLE", "MEASURING", "ROOM", "Figure", "at_least", "at_most", "hold", "within"]
