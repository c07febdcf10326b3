"""Compares many turns with a profile's budgets: per stage the percentiles, their limits, and which of them are over. The report
prints it; the benchmarks judge by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from voiceagent.latency.budgets import StageLimits
from voiceagent.latency.percentiles import Distribution, distribution
from voiceagent.latency.spans import Stage, TurnReport


@dataclass(frozen=True, slots=True)
class StageComparison:
    """One stage over all turns. `measured` is None when no turn had it."""

    stage: Stage
    measured: Distribution | None
    limits: StageLimits

    @property
    def over(self) -> tuple[str, ...]:
        """The percentiles that exceed their limit."""
        if self.measured is None:
            return ()
        pairs = (
            ("p50", self.measured.p50_ms, self.limits.p50_ms),
            ("p95", self.measured.p95_ms, self.limits.p95_ms),
            ("p99", self.measured.p99_ms, self.limits.p99_ms),
        )
        return tuple(name for name, measured_ms, limit_ms in pairs if measured_ms > limit_ms)


def compare(reports: Iterable[TurnReport], limits: Mapping[Stage, StageLimits]) -> tuple[StageComparison, ...]:
    """Compare turns of one profile with its limits; one entry per stage, in the order of `Stage`."""
    measured_ms: dict[Stage, list[float]] = {}
    for report in reports:
        for stage, durations_ms in report.durations_ms().items():
            measured_ms.setdefault(stage, []).extend(durations_ms)
    return tuple(
        StageComparison(stage, distribution(measured_ms[stage]) if stage in measured_ms else None, limits[stage])
        for stage in Stage
    )
