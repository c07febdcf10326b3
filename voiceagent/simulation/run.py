"""Runs many simulated calls on all cores. A call is named by its number. The same number gives the same call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from msgspec.structs import replace

from voiceagent.conversation.rules import Rules, ToolRule
from voiceagent.simulation.call import SimulatedCall
from voiceagent.simulation.script import HAS_EFFECTS, LOOKS_UP
from voiceagent.simulation.tally import Tally
from voiceagent.simulation.virtual_call import Record

BATCH = 500


def simulate(
    rules: Rules, calls: int, *, first: int = 0, jobs: int = 0, progress: Callable[[int], None] = lambda done: None
) -> Tally:
    """Run `calls` calls from number `first` on, in `jobs` processes (0: one per core). `progress` is called with the number of
    finished calls. The tools are the simulation's own: one looks something up, one has effects."""
    tally = Tally()
    jobs = jobs or len(os.sched_getaffinity(0))
    batches = [range(start, min(start + BATCH, first + calls)) for start in range(first, first + calls, BATCH)]
    for part in _run(partial(_batch, with_tools(rules)), batches, jobs):
        tally.add(part)
        progress(tally.calls)
    return tally


def simulate_one(rules: Rules, number: int, record: Record | None = None) -> Tally:
    """Run one call. `record` is called with each step."""
    tally = Tally()
    SimulatedCall(with_tools(rules), number, tally, record).run()
    return tally


def with_tools(rules: Rules) -> Rules:
    """The rules with the simulation's tools."""
    return replace(rules, tools={LOOKS_UP: ToolRule("none"), HAS_EFFECTS: ToolRule("external")})


def _run(work: Callable[[range], Tally], batches: list[range], jobs: int) -> Iterator[Tally]:
    if jobs == 1 or len(batches) == 1:
        yield from map(work, batches)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(work, batches)


def _batch(rules: Rules, numbers: range) -> Tally:
    tally = Tally()
    for number in numbers:
        SimulatedCall(rules, number, tally).run()
    return tally
