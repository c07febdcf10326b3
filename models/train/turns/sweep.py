"""Scores chances like LiveKit's eot-bench: at each pause, where the chance reaches a threshold the turn ends after `delay` of
silence, else after `time-out`. For each budget of mean latency, the policy that cuts off the fewest turns; with 95 % intervals
by bootstrap over turns. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DELAYS_MS = (200.0, 240.0, 280.0, 320.0, 360.0, 400.0, 500.0, 600.0)
"""The first leaves 100 ms to notice the silence and 100 to decode and to judge."""
TIMEOUTS_MS = (300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0, 1600.0, 1800.0, 2000.0, 2300.0, 2600.0)
SILENCES_MS = (100.0, 120.0, 140.0, 160.0, 180.0, *DELAYS_MS, *TIMEOUTS_MS)
"""Of a detector alone, which needs no time to judge."""
THRESHOLDS = 40
BUDGETS_MS = (300.0, 600.0)
MOST_CUT_OFF = 0.05
RESAMPLES = 400
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pauses:
    """All pauses of a set, in the order of its turns; arrays of the shape (pauses,)."""

    turn: NDArray[np.int64]
    """The number of its turn, from 0."""
    began_ms: Floats
    """When the silence began, from the end of the turn's speech: near 0 for the last one, negative for one inside."""
    lasted_ms: Floats
    is_end: NDArray[np.bool_]
    turns: int


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What policies do to turns; arrays of the shape (policies, turns)."""

    cut_off: NDArray[np.bool_]
    latency_ms: Floats
    """NaN where the turn was cut off, or never heard."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and where it lies in 95 of 100 resamples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Swept:
    """The best of all policies."""

    cut_off_at: dict[float, Interval]
    """Share of turns cut off at a mean latency of at most so many ms."""
    latency_ms: Interval
    """The shortest mean latency at `MOST_CUT_OFF` of the turns cut off."""


def end_turns(pauses: Pauses, delays_ms: Floats) -> Outcomes:
    """Each pause ends its turn once it has lasted for its endpointing delay, `delays_ms` of the shape (policies, pauses)."""
    policies = delays_ms.shape[0]
    cut_off = np.zeros((policies, pauses.turns), np.bool_)
    latency = np.full((policies, pauses.turns), np.nan)
    ended = np.zeros((policies, pauses.turns), np.bool_)
    reached = delays_ms <= pauses.lasted_ms
    for index, turn in enumerate(pauses.turn):
        now = reached[:, index] & ~ended[:, turn]
        if pauses.is_end[index]:
            latency[now, turn] = pauses.began_ms[index] + delays_ms[now, index]
        else:
            cut_off[now, turn] = True
        ended[:, turn] |= now
    return Outcomes(cut_off, latency)


def outcomes_of(pauses: Pauses, chances: Floats) -> Outcomes:
    """Of all thresholds, delays and time-outs."""
    thresholds = np.unique(np.quantile(chances, np.linspace(0.02, 0.98, THRESHOLDS)))
    policies = [(t, d, o) for t, d, o in itertools.product(thresholds, DELAYS_MS, TIMEOUTS_MS) if o > d]
    threshold, delay, timeout = (np.array(column)[:, None] for column in zip(*policies, strict=True))
    return end_turns(pauses, np.where(chances[None] >= threshold, delay, timeout))


def silences(pauses: Pauses) -> Outcomes:
    """Of a fixed silence that ends every turn."""
    delays = np.array(sorted(set(SILENCES_MS)))[:, None]
    return end_turns(pauses, np.broadcast_to(delays, (len(delays), len(pauses.turn))))


def frontier(outcomes: Outcomes, budgets_ms: Sequence[float]) -> list[tuple[float, float]]:
    """The best policy at each mean latency: latency in ms, turns cut off in per cent."""
    latency, cut_off = np.nanmean(outcomes.latency_ms, axis=1), 100 * outcomes.cut_off.mean(axis=1)
    found = [(budget, float(np.where(latency <= budget, cut_off, np.inf).min())) for budget in budgets_ms]
    return [point for point in found if np.isfinite(point[1])]


def best(outcomes: Outcomes) -> Swept:
    """The best policies, on all turns and on resamples of them."""
    turns = outcomes.cut_off.shape[1]
    rng = np.random.default_rng(1)
    weights = rng.multinomial(turns, np.full(turns, 1 / turns), size=RESAMPLES).astype(np.float64)
    weights = np.vstack([np.ones(turns), weights])
    answered = ~np.isnan(outcomes.latency_ms)
    cut_off = weights @ outcomes.cut_off.T.astype(np.float64) / turns
    latency = weights @ np.nan_to_num(outcomes.latency_ms).T / np.maximum(1, weights @ answered.T.astype(np.float64))
    at = {budget: _interval(np.where(latency <= budget, cut_off, 1.0).min(axis=1)) for budget in BUDGETS_MS}
    return Swept(at, _interval(np.where(cut_off <= MOST_CUT_OFF, latency, np.inf).min(axis=1)))


def _interval(values: Floats) -> Interval:
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return Interval(float(values[0]), float(low), float(high))


@dataclass(frozen=True, slots=True)
class RuleScore:
    """What a rule does to turns; latencies of those not cut off, in ms."""

    cut_off: float
    median_ms: float
    mean_ms: float
    p90_ms: float


def rule_score(pauses: Pauses, delays_ms: Floats) -> RuleScore:
    """Of one endpointing delay a pause."""
    outcomes = end_turns(pauses, delays_ms[None])
    latency = outcomes.latency_ms[0][~np.isnan(outcomes.latency_ms[0])]
    middle, p90 = np.percentile(latency, [50, 90])
    return RuleScore(float(outcomes.cut_off.mean()), float(middle), float(latency.mean()), float(p90))


def area(chances: Floats, is_end: NDArray[np.bool_]) -> float:
    """Of the ROC curve: how often an end is held for likelier than a pause inside a turn; equal ones count half."""
    order = np.argsort(chances, kind="stable")
    ranks = np.empty(len(chances))
    ranks[order] = np.arange(1, len(chances) + 1)
    values, inverse = np.unique(chances, return_inverse=True)
    mean_rank = np.bincount(inverse, ranks) / np.bincount(inverse, minlength=len(values))
    ends = int(is_end.sum())
    return float((mean_rank[inverse][is_end].sum() - ends * (ends + 1) / 2) / max(1, ends * (len(is_end) - ends)))
