"""The alerts that are active on this server now, for its monitor. Most bear the name of a rule in `deploy/prometheus/alerts.yml`,
which judges over longer times and over all servers: it wakes people, and this shows them where to look."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from voiceagent.server.monitoring.engine_health import NAMES
from voiceagent.server.monitoring.metrics import Metrics

SAMPLED_S = 30.0
WINDOW_SAMPLES = 20
"""Ten minutes."""
MORE_THAN = 3
"""Replies that failed, or callers who were refused, within that time."""
FULL = 0.9
FAILING = 0.2
BAD_RUNS = ("failed", "too_slow", "too_many")
BAD_CHECKS = (" late", " failed", " not_asked")
BLOCKED = 60
"""Steps that held the event loop within that time."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    severity: Literal["page", "warn"]
    text: str


class ActiveAlerts:
    """One per server. `watch` takes a handful of counters twice a minute."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._samples: deque[Mapping[str, int]] = deque([self._counts()], maxlen=WINDOW_SAMPLES + 1)

    async def watch(self) -> None:
        """Take samples for ever."""
        while True:
            await asyncio.sleep(SAMPLED_S)
            self._samples.append(self._counts())

    def now(self) -> list[Alert]:
        """The alerts, those first that should wake someone."""
        return sorted(self._found(), key=lambda alert: alert.severity)

    def _found(self) -> Iterator[Alert]:
        metrics, before = self._metrics, self._samples[0]
        grown = {name: count - before[name] for name, count in self._counts().items()}
        for engine, problem in sorted(metrics.health.down.items()):
            yield Alert("EngineDown", "page", f"{NAMES[engine].capitalize()} does not work ({problem}): callers get no answers.")
        if grown["calls"]:
            yield Alert("CallsFail", "page", f"{grown['calls']} calls failed within ten minutes; the log says why.")
        if grown["replies"] > MORE_THAN:
            yield Alert("RepliesFail", "page", f"{grown['replies']} replies failed within ten minutes; the log says why.")
        if grown["refused"] > MORE_THAN:
            yield Alert("CallersRefused", "page", f"{grown['refused']} callers found all lines busy within ten minutes.")
        if metrics.pressure >= 1.0:
            yield Alert("Pressure", "page", "The event loop is too busy: no more calls are taken until it is not.")
        elif metrics.calls_active > FULL * metrics.call_places > 0:
            yield Alert("NearlyFull", "warn", f"{metrics.calls_active} of {metrics.call_places} lines are in use.")
        for rates in metrics.budget_actions.rates():
            if rates.level is not None:
                yield Alert("BudgetBurns", "warn", f"{rates}; {rates.level}.")
        if grown["runs"] and grown["bad runs"] > FAILING * grown["runs"]:
            yield Alert("ToolsFail", "warn", f"{grown['bad runs']} of {grown['runs']} tool runs within ten minutes failed.")
        if grown["bad checks"] > MORE_THAN:
            yield Alert("GuardsFail", "warn", f"A guard's service gave no answer {grown['bad checks']} times within ten minutes.")
        if grown["blocked"] > BLOCKED:
            yield Alert("EventLoopBlocked", "warn", f"The event loop was held {grown['blocked']} times within ten minutes.")
        if grown["dropped"]:
            yield Alert("QueuesOverflow", "warn", f"Full queues dropped {grown['dropped']} items within ten minutes.")

    def _counts(self) -> dict[str, int]:
        metrics = self._metrics
        return {
            "calls": metrics.calls_ended["failed"],
            "replies": metrics.failed_replies.total(),
            "refused": metrics.calls_refused["server_full"] + metrics.calls_refused["memory_full"],
            "dropped": metrics.queue_drops.total(),
            "bad checks": sum(count for outcome, count in metrics.guard_checks.items() if outcome.endswith(BAD_CHECKS)),
            "blocked": metrics.blocked.total(),
            "runs": metrics.tools.total(),
            "bad runs": sum(metrics.tools[outcome] for outcome in BAD_RUNS),
        }
