"""Measures recognisers and voices as a service against the same in each worker: two workers that each load their own models,
and two that share one service (`voiceagent models serve`), with the same callers. Each caller asks again as soon as it is
answered."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import psutil

from bench.harness import Figure, plain
from voiceagent.latency.budgets import percentile

NOTES = """
A service costs processor time for its messages, and saves some where it decodes more windows in one run: *CPU* is that of all the
processes of a setup, by what they answered, so it hardly depends on what else the machine does; the rates and latencies do.
*in workers*: two processes, each with a recogniser and a voice of its own, and half of the callers. *service*: two processes
without models, and one `voiceagent models serve` with two copies of the voice. A decode is a final of a sentence of 1.5 to 3 s, a
sentence one of six to ten words. The two take turns, in rounds; a ratio is of the same round, and the median of the rounds is
shown. *Latency* is one caller's. Memory is what the processes hold by themselves and their share of what they have in common
(PSS), loaded and used. The callers ask without a pause, so they are more work than as many calls.
"""
CALLERS = (1, 4, 8, 16)
ROUNDS = 3
SECONDS = 3.0
WORKERS = 2
KINDS = {"stt": "decodes", "tts": "sentences"}
SETUPS = ("in workers", "service")


@dataclass(slots=True)
class Measured:
    """What one setup did with so many callers, by rounds."""

    per_s: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    """Processor time of all processes, by what was answered."""
    first_ms: list[float] = field(default_factory=list)
    """From asking to the first part of the answer, of all rounds."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that holds callers."""

    process: asyncio.subprocess.Process

    async def ask(self, **job: object) -> dict[str, list[float]]:
        """Let its callers ask for a while; returns the times in ms of what was answered."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        found: dict[str, list[float]] = json.loads(await self.process.stdout.readline())
        return found


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about three minutes."""
    profile = options.profile or "embedded"
    found: dict[tuple[str, int, str], Measured] = defaultdict(Measured)
    async with AsyncExitStack() as stack:
        service, url = await stack.enter_async_context(running_service(profile))
        workers = {
            "in workers": [await stack.enter_async_context(worker(profile, "")) for _ in range(WORKERS)],
            "service": [await stack.enter_async_context(worker(profile, url)) for _ in range(WORKERS)],
        }
        processes = {setup: [each.process.pid for each in workers[setup]] for setup in SETUPS}
        processes["service"].append(service)
        for number in range(ROUNDS):
            for kind in KINDS:
                for callers in CALLERS:
                    for setup in SETUPS[:: 1 if number % 2 else -1]:
                        await one_round(workers[setup], processes[setup], kind, callers, found[kind, callers, setup])
        memory_mb = {setup: sum(map(pss_mb, processes[setup])) for setup in SETUPS}
    return rows(profile, found, memory_mb)


async def one_round(workers: list[Worker], processes: list[int], kind: str, callers: int, into: Measured) -> None:
    """Ask for `SECONDS` with the callers shared out among the workers; `processes` are those that work for them."""
    before_s, began_s = sum(map(cpu_s, processes)), time.perf_counter()
    shares = [callers // len(workers) + (at < callers % len(workers)) for at in range(len(workers))]
    jobs = [each.ask(kind=kind, callers=share, seconds=SECONDS) for each, share in zip(workers, shares, strict=True) if share]
    answers = await asyncio.gather(*jobs)
    count = sum(len(each["all_ms"]) for each in answers)
    into.per_s.append(count / (time.perf_counter() - began_s))
    into.cpu_ms.append((sum(map(cpu_s, processes)) - before_s) * 1000 / count)
    into.first_ms += [ms for each in answers for ms in each["first_ms"]]


def result_name(options: argparse.Namespace) -> str:
    """The name of the result: that of another profile says so."""
    profile = options.profile or "embedded"
    return "model_service" if profile == "embedded" else f"model_service_{profile}"


def rows(profile: str, found: dict[tuple[str, int, str], Measured], memory_mb: dict[str, float]) -> Iterator[Figure]:
    """The figures of all rounds."""
    yield plain("rounds", ROUNDS, "", 0)
    for kind, what in KINDS.items():
        alone = {setup: percentile(found[kind, 1, setup].first_ms, 50) for setup in SETUPS}
        first, a_unit = ("a decode", "a decode") if kind == "stt" else ("the first audio of a sentence", "a sentence")
        for setup in SETUPS:
            yield plain(f"{profile}, {first}, one caller, {setup}: latency p50", alone[setup], "ms", 2)
        added = alone["service"] - alone["in workers"]
        yield plain(f"{profile}, {first}, one caller: latency that the service adds", added, "ms", 2)
        even = 0
        for callers in CALLERS:
            both = [found[kind, callers, setup] for setup in SETUPS]
            cost, rate = (
                statistics.median(theirs / ours for ours, theirs in zip(*(getattr(each, name) for each in both), strict=True))
                for name in ("cpu_ms", "per_s")
            )
            even = even or (callers if cost <= 1 else 0)
            for setup, each in zip(SETUPS, both, strict=True):
                name = f"{profile}, {callers} callers, {setup}"
                yield plain(f"{name}: CPU {a_unit}", statistics.median(each.cpu_ms), "ms", 2)
                yield plain(f"{name}: {what} a second", statistics.median(each.per_s), "", 1)
                yield plain(f"{name}: {what}, latency p95", percentile(each.first_ms, 95), "ms", 1)
            yield plain(f"{profile}, {callers} callers: CPU {a_unit} by the service, of that in workers", 100 * cost, "%", 0)
            yield plain(f"{profile}, {callers} callers: {what} a second by the service, of those in workers", 100 * rate, "%", 0)
        name = f"callers from which the service costs no more CPU {a_unit} (0: more up to {CALLERS[-1]})"
        yield plain(f"{profile}: {name}", even, "", 0)
    for setup, megabytes in memory_mb.items():
        yield plain(f"{profile}, two workers, {setup}: memory", megabytes, "MB", 0)


def cpu_s(pid: int) -> float:
    """The processor time of a process so far."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def pss_mb(pid: int) -> float:
    """The memory of a process: its own, and its share of what it has in common with others."""
    return float(psutil.Process(pid).memory_full_info().pss) / 1e6


@asynccontextmanager
async def running_service(profile: str) -> AsyncIterator[tuple[int, str]]:
    """The service in a process of its own: its process id and its address."""
    command = ("-m", "voiceagent", "models", "serve", "--port", "0", "--profile", profile, "--voices", str(WORKERS))
    process = await _started(*command)
    try:
        assert process.stdout is not None
        while line := (await process.stdout.readline()).decode():
            if answered := re.search(r"answer at (grpc://\S+)", line):
                break
        else:
            raise RuntimeError("the service did not start")
        yield process.pid, answered[1]
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def worker(profile: str, url: str) -> AsyncIterator[Worker]:
    """A process that holds callers, once its engines are loaded. Without a `url` it loads models of its own."""
    process = await _started("-m", "bench.model_service_worker", profile, url)
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        yield Worker(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _started(*arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=pipe, stdout=pipe, env=environment, limit=2**24)
