"""The metrics that the front counts itself: its connections, and the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from voiceagent.gateway.members import Member
from voiceagent.server.monitoring.metrics import Metrics

PHASES = ("loading", "ready", "draining")


@dataclass(slots=True)
class FrontMetrics:
    """One per front."""

    http: Metrics = field(default_factory=Metrics)
    """Those of the connections."""
    restarts: Counter[int] = field(default_factory=Counter)
    """Workers that were started anew, by their numbers."""

    def about(self, living: Sequence[Member], expected: int) -> Collector:
        """Returns what there is to be read now."""
        return _About(self, living, expected)


@dataclass(frozen=True, slots=True)
class _About(Collector):
    metrics: FrontMetrics
    living: Sequence[Member]
    expected: int

    def collect(self) -> Iterator[Metric]:
        http = self.metrics.http
        workers = GaugeMetricFamily("voiceagent_workers", "Worker processes, by phase.", labels=["phase"])
        for phase in PHASES:
            workers.add_metric([phase], sum(member.status.phase == phase for member in self.living))
        yield workers
        yield GaugeMetricFamily("voiceagent_workers_expected", "Worker processes that there are to be.", self.expected)
        restarts = CounterMetricFamily("voiceagent_worker_restarts_total", "Starts of a worker anew.", labels=["number"])
        for number in range(1, self.expected + 1):
            restarts.add_metric([str(number)], self.metrics.restarts[number])
        yield restarts
        yield GaugeMetricFamily("voiceagent_connections", "Connections of HTTP clients that are open.", http.connections)
        yield http.connections_let_go.family({})
