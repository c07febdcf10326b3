"""Latency budgets: the limits on every stage's percentiles, per profile, and the check of one live turn against them.
`latency.budget_file` reads them from `latency_budgets.yaml`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from voiceagent.errors import ConfigError
from voiceagent.latency.spans import LegKind, Stage, TurnReport


@dataclass(frozen=True, slots=True)
class StageLimits:
    """The upper limits of a stage's percentiles."""

    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of every profile that the file names; each profile limits every stage. `profile/leg` are those of the calls
    that come by a leg, where the file names it."""

    source: str
    """The file they came from, for messages."""
    profiles: Mapping[str, Mapping[Stage, StageLimits]]

    def of(self, profile: str, leg: LegKind | None = None) -> Mapping[Stage, StageLimits]:
        """The limits of a profile for the calls of a leg. Raises ConfigError, which names the known profiles."""
        limits = self.profiles.get(f"{profile}/{leg}") or self.profiles.get(profile)
        if limits is None:
            known = ", ".join(name for name in self.profiles if "/" not in name)
            raise ConfigError(
                f"{self.source}: has no budgets for profile {profile!r}, only for {known}; add `{profile}: {{extends: cpu}}` "
                "to a file of yours for --budgets, or `budgets: cpu` to your profile"
            )
        return limits

    def extended(self, profile: str, like: str) -> Budgets:
        """These budgets, with another profile's limits for a profile that has none of its own. Raises ConfigError when that one
        has none either."""
        if profile in self.profiles or not like:
            return self
        own = {f"{profile}/{leg}": self.of(like, leg) for leg in LegKind if f"{like}/{leg}" in self.profiles}
        return Budgets(self.source, {**self.profiles, profile: self.of(like), **own})


@dataclass(frozen=True, slots=True)
class Miss:
    """A stage of a live turn that took longer than its budget's p95."""

    stage: Stage
    measured_ms: float
    limit_ms: float

    def __str__(self) -> str:
        return f"{self.stage} took {self.measured_ms:.0f} ms, over its p95 budget of {self.limit_ms:.0f} ms"


def check_turn(report: TurnReport, budgets: Budgets) -> tuple[Miss, ...]:
    """The stages of one turn that were over budget, in the order of `Stage`; empty when none was.

    One turn has no percentiles, so each of its stages is judged by the p95 limit: in a system that is just within budget one turn
    in twenty misses. If a stage occurred several times, the longest is judged. Raises ConfigError when the budgets do not name
    the turn's profile.
    """
    limits = budgets.of(report.profile, report.leg)
    measured = report.durations_ms()
    worst = {stage: max(measured[stage]) for stage in Stage if stage in measured}
    return tuple(Miss(stage, ms, limits[stage].p95_ms) for stage, ms in worst.items() if ms > limits[stage].p95_ms)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of `values` that at least `percent` (0..100) of them do not exceed: the nearest-rank definition, whose
    every value really occurred. The p99 of few turns is the worst of them. Raises ValueError when there are none."""
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
