"""The waits of a simulated fleet's callers: the turns of each call are drawn one after another, and each waits as the load of its
worker and machine at that moment makes it (`wait_curve.py`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.capacity.fleet_calls import FleetRun
from voiceagent.capacity.wait_curve import WaitCurve

MOST_TURNS = 3_000_000
"""The most turns that are drawn: beyond, some of the calls stand for all."""


def fleet_waits_ms(run: FleetRun, curve: WaitCurve, seed: int) -> NDArray[np.float64]:
    """The wait of each turn in ms, of all calls or of as many as make `MOST_TURNS`."""
    dice = np.random.default_rng(seed + 2)
    worker, at_s, end_s = (np.asarray(part) for part in (run.parts.worker, run.parts.begin_s, run.parts.end_s))
    share = MOST_TURNS * curve.load.cycle_s / max(1.0, float(np.sum(end_s - at_s)))
    if share < 1:
        chosen = dice.random(len(worker)) < share
        worker, at_s, end_s = worker[chosen], at_s[chosen], end_s[chosen]
    spoke_s, answered_s = (np.asarray([getattr(turn, name) for turn in curve.load.turns]) for name in ("spoke_s", "answered_s"))
    of_worker, of_machine = run.of_worker.lookup(run.end_s), run.of_machine.lookup(run.end_s)
    found = [np.empty(0)]
    while len(worker):
        drawn = dice.integers(len(spoke_s), size=len(worker))
        at_s = at_s + spoke_s[drawn]
        stays = at_s < end_s
        worker, at_s, end_s, drawn = worker[stays], at_s[stays], end_s[stays], drawn[stays]
        own = np.maximum(of_worker.calls(worker, at_s), 1)
        beside = np.maximum(of_machine.calls(worker // run.fleet.workers, at_s) - own, 0)
        waits_ms = curve.waits_ms(own, beside, dice.random(len(worker)))
        found.append(waits_ms)
        pause_s = curve.load.pause_s * (0.5 + dice.random(len(worker)))
        at_s = at_s + waits_ms / 1000 + answered_s[drawn] + pause_s
    return np.concatenate(found)


def percentiles_ms(waits_ms: NDArray[np.float64]) -> tuple[float, float, float] | tuple[None, None, None]:
    """p50, p95 and p99; None where nobody waited."""
    if not len(waits_ms):
        return None, None, None
    p50, p95, p99 = (round(float(value), 1) for value in np.percentile(waits_ms, (50, 95, 99)))
    return p50, p95, p99
