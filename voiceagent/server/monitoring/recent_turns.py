"""The last turns of a server, for its monitor: the percentiles of their stages against the budgets, and the share of turns that
were over budget, over windows of time. Bounded, in memory; `voiceagent report` reads the whole store."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from voiceagent.latency.budgets import StageComparison, StageLimits, distribution
from voiceagent.latency.spans import LegKind, Stage, TurnReport

MAX_MEASURED = 500
"""The newest times of each stage of each leg."""
BUCKET_S = 10.0
WINDOWS_S = (300.0, 3600.0)


@dataclass(frozen=True, slots=True)
class Share:
    """The turns of a window."""

    window_s: float | None
    """None: since the start of the server."""
    turns: int
    over: int
    """Those in which a stage was over its p95 limit."""


class RecentTurns:
    """One per server. Only the event loop's thread uses it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stages_ms: dict[LegKind, dict[Stage, deque[float]]] = {}
        self._buckets: deque[list[int]] = deque(maxlen=int(max(WINDOWS_S) / BUCKET_S) + 1)
        """Each a number on the clock, its turns, and those over budget."""
        self._turns = self._over = 0

    def add(self, report: TurnReport, missed: Collection[Stage]) -> None:
        """A turn was measured; `missed` are its stages over budget."""
        stages = self._stages_ms.setdefault(report.leg, defaultdict(lambda: deque(maxlen=MAX_MEASURED)))
        for stage, found_ms in report.durations_ms().items():
            stages[stage].extend(found_ms)
        number = int(self._clock() // BUCKET_S)
        if not self._buckets or self._buckets[-1][0] != number:
            self._buckets.append([number, 0, 0])
        self._buckets[-1][1] += 1
        self._buckets[-1][2] += bool(missed)
        self._turns += 1
        self._over += bool(missed)

    def shares(self) -> list[Share]:
        """The shares over budget, of each window, and since the start."""
        now = int(self._clock() // BUCKET_S)
        found = []
        for window_s in WINDOWS_S:
            inside = [bucket for bucket in self._buckets if bucket[0] > now - window_s / BUCKET_S]
            found.append(Share(window_s, sum(bucket[1] for bucket in inside), sum(bucket[2] for bucket in inside)))
        return [*found, Share(None, self._turns, self._over)]

    def stages(self, limits_of: Callable[[LegKind], Mapping[Stage, StageLimits]]) -> dict[LegKind, list[StageComparison]]:
        """The stages that were measured, of each leg, in the order of `Stage`."""
        return {
            leg: [StageComparison(stage, distribution(stages[stage]), limits[stage]) for stage in Stage if stage in stages]
            for leg, stages in self._stages_ms.items()
            for limits in (limits_of(leg),)
        }
