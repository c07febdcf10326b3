"""What a model check measures: a figure against its target."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure."""

    name: str
    """What was measured, for people, such as "word error rate, held-out voices"."""
    value: float
    unit: str
    """`%`, `ms`, `clips` …; empty for a bare number."""
    target: str
    """The target for people: "≤ 15"; empty when there is none."""
    ok: bool
    """Whether the target is met; True when there is none."""


def at_most(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must not exceed `limit`."""
    return Figure(name, value, unit, f"≤ {limit:g}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must reach `limit`."""
    return Figure(name, value, unit, f"≥ {limit:g}", value >= limit)


def plain(name: str, value: float, unit: str, digits: int = 1) -> Figure:
    """A figure without a target, rounded to so many digits."""
    return Figure(name, round(value, digits), unit, "", True)
