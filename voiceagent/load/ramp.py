"""Steps of more and more calls to a server, each held and judged: the wait against the budget, calls that were refused or failed,
gaps in the audio. The callers are in processes of their own."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from voiceagent.capacity.load_result import MIN_TURNS, LoadStep, ServerUse
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import StageLimits, percentile
from voiceagent.load.callers import CallerJob, LoadCounts
from voiceagent.load.watched_server import WatchedServer

ANSWER_LIMIT_BYTES = 2**26
ANSWER_TIMEOUT_S = 30.0
HOLD_S = 60.0
TURN_S = 12.0
"""The longest time that is usual from one turn of a call to its next."""
STOP_S = 20.0
GAP_MS = 60.0
"""A packet that comes later than this after the earliest ones of its call leaves a gap in what its caller hears."""
CALLERS_LATE_MS = 20.0
"""Callers whose own event loop is later at p99 hear gaps that are theirs."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The steps of a load test."""

    steps: tuple[int, ...]
    """Calls at a time."""
    settle_s: float
    """The time before a step is measured."""
    hold_s: float | None
    """None: a minute, or longer with few calls."""
    callers_a_process: int
    callers_here: bool
    """True when the callers run on the server's machine."""
    ramp: bool
    """True if the second step that is not within the budget is the last."""
    job: CallerJob


async def climb(plan: LoadPlan, watched: WatchedServer, limits: StageLimits, tell: Callable[[LoadStep], None]) -> None:
    """Measure step by step; `tell` gets each. Raises MediaError when the server or the callers are gone."""
    missed = 0
    async with CallerProcesses(plan.job, plan.callers_a_process) as callers:
        for calls in plan.steps:
            await callers.begin(calls)
            await asyncio.sleep(plan.settle_s)
            await callers.measure()
            began_s = time.monotonic()
            use = await watched.use(plan.hold_s or max(HOLD_S, MIN_TURNS * TURN_S / calls))
            took_s = time.monotonic() - began_s
            step = _step(calls, took_s, await callers.report(), use, here=plan.callers_here)
            tell(step)
            missed += bool(step.misses(limits))
            if plan.ramp and missed == 2:
                break


def _step(calls: int, duration_s: float, counts: LoadCounts, use: ServerUse, *, here: bool) -> LoadStep:
    if here:
        use.shares["cores"] += counts.cpu_s / duration_s / use.cores
    packets = counts.missing + len(counts.late_ms)
    gaps = (counts.missing + sum(late_ms > GAP_MS for late_ms in counts.late_ms)) / max(1, packets)
    return LoadStep(
        calls,
        round(duration_s, 2),
        counts.turns,
        counts.calls,
        round(counts.call_s, 1),
        counts.refused,
        counts.failed,
        gaps,
        percentile(counts.late_ms, 99) if counts.late_ms else 0.0,
        percentile(counts.lag_ms, 99) if counts.lag_ms else 0.0,
        round(counts.cpu_s / duration_s, 3),
        use,
    )


class CallerProcesses:
    """Processes with so many callers each. `async with` it; leaving it ends them."""

    def __init__(self, job: CallerJob, callers_each: int) -> None:
        self._job, self._each = job, callers_each
        self._processes: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> CallerProcesses:
        return self

    async def __aexit__(self, *exception: object) -> None:
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        try:
            async with asyncio.timeout(STOP_S):
                for process in self._processes:
                    await process.wait()
        except TimeoutError:
            for process in self._processes:
                if process.returncode is None:
                    process.kill()

    async def begin(self, calls: int) -> None:
        """Have so many callers in all."""
        while len(self._processes) * self._each < calls:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "voiceagent.load.callers"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=ANSWER_LIMIT_BYTES,
            )
            self._processes.append(process)
            number = len(self._processes)
            job = msgspec.structs.replace(self._job, seed=self._job.seed + number)
            await self._tell(process, msgspec.json.encode(job).decode())
        for number, process in enumerate(self._processes):
            await self._tell(process, str(min(self._each, calls - number * self._each)))

    async def measure(self) -> None:
        """Count from now on."""
        for process in self._processes:
            await self._tell(process, "measure")

    async def report(self) -> LoadCounts:
        """All counts since then. Raises MediaError when a process is gone."""
        counts = LoadCounts()
        for process in self._processes:
            await self._tell(process, "report")
        for process in self._processes:
            assert process.stdout is not None
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                line = await process.stdout.readline()
            if not line:
                raise MediaError("a process of callers has ended by itself; its error stands above")
            counts.add(msgspec.json.decode(line, type=LoadCounts))
        return counts

    async def _tell(self, process: asyncio.subprocess.Process, line: str) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(f"{line}\n".encode())
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise MediaError("a process of callers has ended by itself; its error stands above") from error


def steps_to(calls: Sequence[int], *, ramp: bool) -> tuple[int, ...]:
    """The numbers of calls as they are; one number with `ramp` is reached in up to eight steps."""
    if not ramp or len(calls) > 1:
        return tuple(sorted(set(calls)))
    most = calls[0]
    return tuple(sorted({max(1, round(most * step / 8)) for step in range(1, 9)}))
