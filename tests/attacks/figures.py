"""Figures that an attack's test holds to its promise. `make bench ARGS=attacks` gathers them for `bench/results/attacks.json`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from voiceagent.evaluation.check import Figure, at_least, at_most

FILE_VARIABLE = "ATTACK_FIGURES"
"""Names the file to which each figure is added, a line of JSON each."""


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


__all__ = ["FILE_VARIABLE", "Figure", "at_least", "at_most", "hold"]
