"""Calls as they come to a fleet: steadily, by a day's profile, in a burst, or at given seconds; and how long they last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

DAY_S = 86_400.0
DAY = (
    *(0.04, 0.03, 0.02, 0.02, 0.03, 0.06, 0.15, 0.36, 0.70, 0.94, 1.00, 0.97),
    *(0.82, 0.86, 0.95, 0.93, 0.88, 0.78, 0.60, 0.44, 0.31, 0.20, 0.12, 0.07),
)
"""The rate of calls at each full hour as a share of the peak's, straight in between: a service with office hours. It is an
example and not measured."""
STEP_S = 300.0


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of calls."""

    mean_s: float
    measured_s: tuple[float, ...] = ()
    """Drawn from these; without any, exponential."""

    def draw(self, count: int, dice: np.random.Generator) -> NDArray[np.float64]:
        """Lengths of so many calls, in seconds."""
        if not self.measured_s:
            return dice.exponential(self.mean_s, count)
        return dice.choice(np.asarray(self.measured_s), count)

    def draw_left(self, count: int, dice: np.random.Generator) -> NDArray[np.float64]:
        """The time that is left of calls that are up at some moment: long ones are met more often, each at any point of it."""
        if not self.measured_s:
            return dice.exponential(self.mean_s, count)
        known = np.asarray(self.measured_s)
        return dice.choice(known, count, p=known / known.sum()) * dice.random(count)


def lengths_of(measured_s: Sequence[float]) -> Lengths:
    """Lengths that were measured."""
    return Lengths(float(np.mean(measured_s)), tuple(measured_s))


@dataclass(frozen=True, slots=True)
class Traffic:
    """Calls that come, and those that are up before."""

    starts_s: NDArray[np.float64] = field(repr=False)
    """Sorted."""
    lengths_s: NDArray[np.float64] = field(repr=False)
    left_s: NDArray[np.float64] = field(repr=False)
    """The time that is left, at 0 s, of each call that is up then."""
    end_s: float

    @property
    def mean_calls(self) -> float:
        """Calls at a time on average, if none were refused."""
        inside_s = np.minimum(self.starts_s + self.lengths_s, self.end_s) - self.starts_s
        return float(inside_s.sum() + np.minimum(self.left_s, self.end_s).sum()) / self.end_s

    @property
    def peak_calls(self) -> int:
        """Calls at the busiest moment, if none were refused."""
        ends = np.sort(np.concatenate([self.left_s, self.starts_s + self.lengths_s]))
        before = len(self.left_s)
        up = np.arange(1, len(self.starts_s) + 1) + before - np.searchsorted(ends, self.starts_s, side="right")
        return max(before, int(up.max(initial=0)))


def constant(calls: int, end_s: float) -> Traffic:
    """Always the same calls, as in a step of a load test."""
    return Traffic(np.empty(0), np.empty(0), np.full(calls, np.inf), end_s)


def steady(calls: float, total: int, lengths: Lengths, seed: int) -> Traffic:
    """Calls at random, so many at a time on average, until `total` have come."""
    rate = calls / lengths.mean_s
    return _poisson([0.0, total / rate], [rate, rate], total, lengths, seed)


def day(peak: float, lengths: Lengths, seed: int) -> Traffic:
    """A day with so many calls at a time at its peak."""
    times_s = np.arange(0.0, DAY_S + 1, STEP_S)
    rates = np.interp(times_s, np.arange(25) * 3600.0, [*DAY, DAY[0]]) * peak / lengths.mean_s
    total = round(float(np.trapezoid(rates, times_s)))
    return _poisson(list(times_s), list(rates), total, lengths, seed)


def day_total(peak: float, lengths: Lengths) -> float:
    """The calls of a day with so many at a time at its peak."""
    return peak / day_peak(1, lengths)


def day_peak(total: int, lengths: Lengths) -> float:
    """The calls at a time at the peak of a day with so many calls."""
    shares = [*DAY, DAY[0]]
    return total / (float(np.trapezoid(shares)) * 3600.0) * lengths.mean_s


def burst(calls: float, total: int, lengths: Lengths, seed: int, *, times: float, lasts_s: float) -> Traffic:
    """Steady calls, of which, from the middle on, `times` as many come for so many seconds."""
    rate = calls / lengths.mean_s
    around_s = max(0.0, total / rate - lasts_s * times) / 2
    begin_s, until_s = around_s, around_s + lasts_s
    at_s = [0.0, begin_s, begin_s + 1e-3, until_s, until_s + 1e-3, until_s + around_s + 1e-2]
    rates = [rate, rate, rate * times, rate * times, rate, rate]
    return _poisson(at_s, rates, total, lengths, seed)


def given(starts_s: Sequence[float], lengths: Lengths, seed: int) -> Traffic:
    """Calls that come at these seconds."""
    dice = np.random.default_rng(seed)
    starts = np.sort(np.asarray(starts_s, dtype=float))
    starts = starts - starts[0]
    return Traffic(starts, lengths.draw(len(starts), dice), np.empty(0), max(float(starts[-1]), 1.0))


def _poisson(at_s: Sequence[float], rates: Sequence[float], total: int, lengths: Lengths, seed: int) -> Traffic:
    """`total` calls of a Poisson process whose rate runs straight between these; before it began, the first rate went on."""
    dice = np.random.default_rng(seed)
    times, rate = np.asarray(at_s), np.asarray(rates)
    sums = np.concatenate([[0.0], np.cumsum(np.diff(times) * (rate[1:] + rate[:-1]) / 2)])
    starts = np.interp(np.sort(dice.random(total)) * sums[-1], sums, times)
    up = dice.poisson(rate[0] * lengths.mean_s)
    return Traffic(starts, lengths.draw(total, dice), lengths.draw_left(up, dice), float(times[-1]))
