"""Counts of the decisions in many calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

BIN_MS = 5
PERCENTILES = (50, 95, 99)
MAX_BROKEN = 20


@dataclass
class Tally:
    """Counts of decisions by name, and how long things took by name, in bins of 5 ms."""

    calls: int = 0
    events: int = 0
    decisions: dict[str, Counter[str]] = field(default_factory=dict)
    """Decisions by question and answer."""
    times: dict[str, Counter[int]] = field(default_factory=dict)
    """Times by name and bin."""
    broken: list[str] = field(default_factory=list)
    """Rules of the turn engine that were broken, each with its call. Empty unless the turn engine has a fault."""

    def decided(self, question: str, answer: str, count: int = 1) -> None:
        """Count a decision."""
        self.decisions.setdefault(question, Counter())[answer] += count

    def took(self, name: str, ms: float) -> None:
        """Count a time."""
        self.times.setdefault(name, Counter())[round(ms / BIN_MS)] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.calls += other.calls
        self.events += other.events
        for question, answers in other.decisions.items():
            self.decisions.setdefault(question, Counter()).update(answers)
        for name, bins in other.times.items():
            self.times.setdefault(name, Counter()).update(bins)
        self.broken = (self.broken + other.broken)[:MAX_BROKEN]

    def share(self, question: str, answer: str) -> float:
        """The share of an answer among a question's answers, 0 to 1."""
        answers = self.decisions.get(question, Counter())
        return answers[answer] / max(1, answers.total())

    def percentiles_ms(self, name: str, percentiles: Iterable[int] = PERCENTILES) -> tuple[float, ...]:
        """Nearest-rank percentiles of a time. Empty if it never occurred."""
        bins = self.times.get(name)
        return tuple(_percentile(bins, percent) for percent in percentiles) if bins else ()


def _percentile(bins: Counter[int], percent: int) -> float:
    wanted = bins.total() * percent / 100
    seen = 0
    for index in sorted(bins):
        seen += bins[index]
        if seen >= wanted:
            return float(index * BIN_MS)
    return 0.0
