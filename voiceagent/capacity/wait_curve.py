"""The wait of a turn by the load of its worker and of its machine: for some loads the machine is simulated as a network of queues
(`queueing.py`), and in between the percentiles are interpolated. A load is taken to last: calls last minutes, queues seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voiceagent.capacity.queueing import Arrivals, Workload, simulate

QUANTILES = 500
TURNS = 2000
"""Simulated for each load."""
BESIDE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
FINE = 6
"""Up to so many calls each number is simulated; beyond, a quarter more each time."""


class WaitCurve:
    """The waits of the turns of a worker that is one of several on a machine. Each load is simulated when it is first needed."""

    def __init__(self, load: Workload, *, cores: int, workers: int, most_calls: int, seed: int = 0) -> None:
        self.load, self.cores = load, cores
        self._seed = seed
        self._own = np.asarray(_grid(most_calls), dtype=float)
        beside = (workers - 1) * most_calls
        self._beside = np.asarray([share * beside for share in BESIDE_SHARES] if beside else [0.0])
        self._waits = np.zeros((len(self._own), len(self._beside), QUANTILES))
        self._known = np.zeros(self._waits.shape[:2], dtype=bool)

    def waits_ms(self, calls: NDArray[np.int64], beside: NDArray[np.int64], dice: NDArray[np.float64]) -> NDArray[np.float64]:
        """A wait for each turn: with so many calls on its worker (1 or more) and so many on the machine's other workers, at the
        quantile `dice` (0 to 1)."""
        low, part = _cell(self._own, calls)
        side, side_part = _cell(self._beside, beside)
        high, far = np.minimum(low + 1, len(self._own) - 1), np.minimum(side + 1, len(self._beside) - 1)
        needed = np.zeros_like(self._known)
        for own, other, counts in (
            (low, side, part < 1),
            (high, side, part > 0),
            (low, far, side_part > 0),
            (high, far, (part > 0) & (side_part > 0)),
        ):
            needed[own[counts], other[counts]] = True
        for own, other in np.argwhere(needed & ~self._known):
            self._simulate(own, other)
        quantile = np.minimum((dice * QUANTILES).astype(np.int64), QUANTILES - 1)
        near = self._waits[low, side, quantile] * (1 - part) + self._waits[high, side, quantile] * part
        away = self._waits[low, far, quantile] * (1 - part) + self._waits[high, far, quantile] * part
        found: NDArray[np.float64] = near * (1 - side_part) + away * side_part
        return found

    def _simulate(self, own: int, other: int) -> None:
        self._known[own, other] = True
        beside = float(self._beside[other]) * self.load.cores_a_call
        arrivals = Arrivals(float(self._own[own]), steady=True)
        found = simulate(self.load, arrivals, cores=self.cores, turns=TURNS, seed=self._seed, beside=beside)
        self._waits[own, other] = np.quantile(found.waits_ms, (np.arange(QUANTILES) + 0.5) / QUANTILES)


def _grid(most: int) -> Sequence[int]:
    found = [1]
    while found[-1] < most:
        found.append(min(most, found[-1] + 1 if found[-1] < FINE else math.ceil(found[-1] * 1.25)))
    return found


def _cell(grid: NDArray[np.float64], values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The node below each value, and how far on it is to the next (0 to 1); beyond the ends, the end."""
    low = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, len(grid) - 1).astype(np.int64)
    step = np.append(np.diff(grid), np.inf)
    return low, np.clip((values - grid[low]) / step[low], 0.0, 1.0)
