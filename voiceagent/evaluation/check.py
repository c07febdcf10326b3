"""Runs the checks of the bundled models' quality: each part measures its figures on held-out data."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure."""

    name: str
    """The name of the measurement, for people, such as "word error rate, held-out voices"."""
    value: float
    unit: str
    """`%`, `ms`, `clips` …; empty for a bare number."""
    target: str
    """The target for people: "≤ 15"; empty when there is none."""
    ok: bool
    """True if the target is met, or if there is none."""


def at_most(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must not exceed `limit`."""
    return Figure(name, value, unit, f"≤ {limit:g}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must reach `limit`."""
    return Figure(name, value, unit, f"≥ {limit:g}", value >= limit)


def plain(name: str, value: float, unit: str, digits: int = 1) -> Figure:
    """A figure without a target, rounded to so many digits."""
    return Figure(name, round(value, digits), unit, "", True)


CHECKS = {
    "stt": ("voiceagent.evaluation.check_speech", "check_stt"),
    "voice": ("voiceagent.evaluation.check_speech", "check_voice"),
    "lm": ("voiceagent.evaluation.check_lm", "check"),
}
"""Part → the module and function that measure it; imported when asked for, since each loads its engine."""


def check(part: str) -> tuple[Figure, ...]:
    """Measure one part of `CHECKS`. Takes minutes. Raises ModelError when a model is missing or does not load."""
    module, function = CHECKS[part]
    figures: Iterable[Figure] = getattr(importlib.import_module(module), function)()
    return tuple(figures)
