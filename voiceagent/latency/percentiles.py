"""Percentiles of measured durations, by the nearest-rank definition. Each one is a value that really occurred. So the p99 of few
turns is the worst of them, and never an interpolated value that nobody waited for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of `values` that at least `percent` (0..100) of them do not exceed. Raises ValueError when there are none."""
    if not values:
        raise ValueError("a percentile of no values does not exist")
    if not 0 <= percent <= 100:
        raise ValueError(f"percent is {percent}, expected 0 to 100")
    rank = math.ceil(percent * len(values) / 100)
    return sorted(values)[max(rank, 1) - 1]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The three percentiles that budgets limit."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def distribution(values_ms: Sequence[float]) -> Distribution:
    """Summarise durations. Raises ValueError when there are none."""
    return Distribution(len(values_ms), percentile(values_ms, 50), percentile(values_ms, 95), percentile(values_ms, 99))
