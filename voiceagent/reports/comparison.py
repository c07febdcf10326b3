"""Compares two sets of turns: how much longer callers waited, and which part of the wait is to blame. The means of the parts add
up to the mean wait, so their differences add up to its difference. Intervals are bootstrapped over calls, because the turns of a
call are alike (Efron and Tibshirani, An Introduction to the Bootstrap, 1993)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import percentile
from voiceagent.latency.spans import WaitCause
from voiceagent.reports.turn_table import PARTS, TurnRow

RESAMPLES = 2000
FEW_CALLS = 10
"""A set of fewer calls is resampled by turns, which makes its intervals too narrow where the turns of a call are alike."""
CONFIDENCE = 0.95
LEAST_TURNS = 5
WHOLE = "voice_to_voice"


@dataclass(frozen=True, slots=True)
class Change:
    """The mean of a time in both sets."""

    name: str
    before_ms: float
    after_ms: float
    low_ms: float
    """The bounds of the difference: of the whole with `CONFIDENCE`, of a part so that all parts together have it."""
    high_ms: float

    @property
    def difference_ms(self) -> float:
        """Above zero: it takes longer now."""
        return self.after_ms - self.before_ms

    @property
    def is_slower(self) -> bool:
        """True if chance alone does not explain that it takes longer."""
        return self.low_ms > 0

    @property
    def is_faster(self) -> bool:
        """True if chance alone does not explain that it takes less time."""
        return self.high_ms < 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of turns."""

    turns: tuple[int, int]
    by_calls: bool
    """True if calls were resampled."""
    whole: Change
    p50_ms: tuple[float, float]
    p95_ms: tuple[float, float]
    parts: tuple[Change, ...]
    """The parts of the wait, the largest increase first."""
    stages: tuple[Change, ...]
    """All stages, waited for or not, the largest increase first."""

    @property
    def to_blame(self) -> Change | None:
        """The part of the wait that grew most; None if none grew by more than chance."""
        return next((part for part in self.parts if part.is_slower), None)

    @property
    def slower_unnoticed(self) -> tuple[Change, ...]:
        """Stages that take longer, and that are no part of a longer wait."""
        noticed = {part.name for part in self.parts if part.is_slower}
        return tuple(stage for stage in self.stages if stage.is_slower and stage.name not in noticed)


def compare_sets(before: Sequence[TurnRow], after: Sequence[TurnRow], seed: int = 0) -> Comparison:
    """Raises ConfigError when a set has fewer than `LEAST_TURNS` turns that were waited for."""
    sets = [[turn for turn in turns if turn.whole_ms is not None] for turns in (before, after)]
    for name, turns in zip(("before", "after"), sets, strict=True):
        if len(turns) < LEAST_TURNS:
            raise ConfigError(
                f"the set {name} has {len(turns)} answered turns; expected {LEAST_TURNS} or more: choose a longer time"
            )
    by_calls = all(len({turn.call for turn in turns}) >= FEW_CALLS for turns in sets)
    rng = np.random.default_rng(seed)

    def changes(names: Sequence[str], of: Callable[[TurnRow], dict[str, float]], absent: float) -> tuple[Change, ...]:
        tables = [np.array([[of(turn).get(name, absent) for name in names] for turn in turns]) for turns in sets]
        kept = [
            i for i in range(len(names)) if all(np.isfinite(table[:, i]).any() and np.nanmax(table[:, i]) > 0 for table in tables)
        ]
        kept = kept if np.isnan(absent) else [i for i in range(len(names)) if any(table[:, i].any() for table in tables)]
        drawn = [_means(table[:, kept], turns, rng, by_calls=by_calls) for table, turns in zip(tables, sets, strict=True)]
        outside = (1 - CONFIDENCE) / max(1, len(kept)) / 2 * 100
        low, high = np.percentile(drawn[1] - drawn[0], [outside, 100 - outside], axis=0)
        means = [np.nanmean(table[:, kept], axis=0) for table in tables]
        found = [
            Change(names[i], float(means[0][n]), float(means[1][n]), float(low[n]), float(high[n])) for n, i in enumerate(kept)
        ]
        return tuple(sorted(found, key=lambda change: -change.difference_ms))

    (whole,) = changes((WHOLE,), lambda turn: {WHOLE: turn.whole_ms or 0.0}, 0.0)
    wholes = [[turn.whole_ms or 0.0 for turn in turns] for turns in sets]
    return Comparison(
        turns=(len(sets[0]), len(sets[1])),
        by_calls=by_calls,
        whole=whole,
        p50_ms=(percentile(wholes[0], 50), percentile(wholes[1], 50)),
        p95_ms=(percentile(wholes[0], 95), percentile(wholes[1], 95)),
        parts=changes(tuple(WaitCause), lambda turn: turn.wait_ms, 0.0),
        stages=changes(tuple(PARTS), lambda turn: turn.stages_ms, float("nan")),
    )


def _means(
    table: NDArray[np.float64], turns: Sequence[TurnRow], rng: np.random.Generator, *, by_calls: bool
) -> NDArray[np.float64]:
    """The means of the columns in each resample, shape (RESAMPLES, columns); what is missing counts nowhere."""
    known = np.isfinite(table)
    sums, counts = np.where(known, table, 0.0), known.astype(float)
    if by_calls:
        _, owner = np.unique([turn.call for turn in turns], return_inverse=True)
        sums, counts = (np.stack([np.bincount(owner, column) for column in part.T], axis=1) for part in (sums, counts))
    clusters = len(sums)
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES).astype(float)
    found: NDArray[np.float64] = (weights @ sums) / np.maximum(weights @ counts, 1e-9)
    return found
