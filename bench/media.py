"""The media path at 20 calls at once, without models: the server's process plays speech and silence on one core and decodes what
its callers say; the callers, in another process on the other cores, time every packet that they receive."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator

import psutil

from bench.harness import Figure, at_most
from voiceagent.errors import MediaError

CALLS = 20
SECONDS = 60.0
WARM_SECONDS = 3.0
WAKE_UP_S = 0.02
START_TIMEOUT_S = 60.0
NOTES = """Each reply is followed by a silence, of which one packet in 20 is sent (DTX); the callers send all of theirs. Lateness
holds what the machine adds: the idle process's latest wake-up tells how much that was."""
STOP_TIMEOUT_S = 10.0


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about two minutes."""
    server = await _start("bench.media_server")
    try:
        url = await _line(server)
        process = psutil.Process(server.pid)
        pin(server.pid, 0, 1)
        await call_all(process, url, 1, WARM_SECONDS)
        empty_mb = process.memory_info().rss / 1e6
        return _rows(await call_all(process, url, CALLS, SECONDS), empty_mb)
    finally:
        server.terminate()
        await server.wait()


def _rows(measured: dict[str, float], empty_mb: float) -> Iterator[Figure]:
    yield Figure("calls at once", CALLS, "", "", True)
    yield at_most("CPU of the server", round(measured["cpu_cores"], 3), 1.0, "cores")
    yield Figure("CPU of the server, a call-second", round(1000 * measured["cpu_cores"] / CALLS, 2), "ms", "", True)
    yield Figure("threads of the server", measured["threads"], "", "", True)
    yield Figure("packets received", measured["packets"], "", "", True)
    yield at_most("packets missing", measured["missing"], 0, "")
    yield Figure("packet lateness p50", round(measured["late_p50_ms"], 2), "ms", "", True)
    yield Figure("packet lateness p99", round(measured["late_p99_ms"], 2), "ms", "", True)
    yield Figure("packet lateness p99.9", round(measured["late_p999_ms"], 2), "ms", "", True)
    yield at_most("latest packet", round(measured["late_max_ms"], 2), 40, "ms")
    yield Figure("an idle process beside it: latest wake-up", round(measured["woken_late_ms"], 2), "ms", "", True)
    yield at_most("memory a call, without models", round((measured["rss_mb"] - empty_mb) / CALLS, 2), 3, "MB")


async def call_all(server: psutil.Process, url: str, calls: int, seconds: float, *said: str) -> dict[str, float]:
    """Returns the callers' measurements, and the server's CPU, threads and memory while they called. `said`: what each says, and
    the gap after it."""
    callers = await _start("bench.media_callers", url, str(calls), str(seconds), *said)
    pin(callers.pid, 1, None)
    try:
        await _line(callers)
        began_s, before = time.monotonic(), server.cpu_times()
        result = asyncio.create_task(_line(callers, seconds + START_TIMEOUT_S))
        woken_late_ms = await latest_wake_up(seconds * 0.95)
        after, took_s = server.cpu_times(), time.monotonic() - began_s
        usage = {
            "cpu_cores": (after.user + after.system - before.user - before.system) / took_s,
            "rss_mb": server.memory_info().rss / 1e6,
            "threads": float(server.num_threads()),
            "woken_late_ms": woken_late_ms,
        }
        return {**json.loads(await result), **usage}
    finally:
        await asyncio.wait_for(callers.wait(), STOP_TIMEOUT_S)


async def latest_wake_up(seconds: float) -> float:
    """Returns the longest delay with which this process, which does nothing else, was woken in that time; in ms."""
    end_s, latest_s = time.monotonic() + seconds, 0.0
    while (began_s := time.monotonic()) < end_s:
        await asyncio.sleep(WAKE_UP_S)
        latest_s = max(latest_s, time.monotonic() - began_s - WAKE_UP_S)
    return latest_s * 1000.0


async def _start(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=PIPE)


def pin(pid: int, first: int, last: int | None) -> None:
    """Let a process run on some of the cores only, where there are several: the server gets one core, its callers the others."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, cores[first:last])


async def _line(process: Process, timeout_s: float = START_TIMEOUT_S) -> str:
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), timeout_s)).decode().strip()
    if not line:
        raise MediaError("a process of the benchmark ended before it had measured; its errors stand above")
    return line
