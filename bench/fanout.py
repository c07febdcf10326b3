"""Fifty consumers of a call's events, half over HTTP (five of these never read) and half in Redis: the time until the answer is
heard, and how late the frames of the agent's voice come, as ratios to calls that nobody follows. The calls take turns on one
server, which writes events to Redis in both; the consumers are in another process that gives way to it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from bench.calls import QUESTIONS, RATE_HZ, STEP_TIMEOUT_S, TURNS, TURNS_A_CALL, Speech, spoken
from bench.harness import Figure, at_most, plain
from bench.program import ROOT
from bench.server import Server, running
from tests.redis_server import RedisServer, redis_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.packet_times import PacketTimes
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution

SSE, REDIS, STUCK = 25, 25, 5
CONSUMERS = SSE + REDIS
MOST = 1.1
"""The promised ratio."""
MOST_LATER_MS = 5.0
"""A quarter of a frame: the jitter buffers of browsers and telephones hold more."""


@dataclass(slots=True)
class Followed:
    """The measurements of the calls of one kind."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    """Of each packet of the agent's."""
    cpu_s: float = 0.0
    """Processor time of the server, which other work on the machine changes least."""
    call_s: float = 0.0
    """Length of the calls."""
    events: int = 0
    """Those that all consumers got."""
    problems: list[str] = field(default_factory=list)


class Consumers:
    """The process of the consumers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, line: str) -> str:
        """Its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n".encode())
        return (await self._process.stdout.readline()).decode().strip()


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about five minutes for 50 turns of each kind."""
    speeches = {text: spoken(text) for text in QUESTIONS}
    alone, followed = Followed(), Followed()
    with redis_server() as redis:
        kept = ("--event-logs", "1000")
        async with running(*kept, VOICEAGENT_EVENTS=redis.address.url) as server, _consumers(server, redis) as others:
            await _converse(server, Followed(), speeches, others, 0)  # what is slow the first time only
            for number in range(-(-(options.turns or TURNS) // TURNS_A_CALL)):
                first, second = ((alone, 0), (followed, CONSUMERS))[:: 1 if number % 2 else -1]
                for measured, consumers in (first, second):
                    await _converse(server, measured, speeches, others, consumers)
    return _rows(alone, followed)


@asynccontextmanager
async def _consumers(server: Server, redis: RedisServer) -> AsyncIterator[Consumers]:
    command = (sys.executable, "-m", "bench.followers", server.url, redis.address.url)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT)
    try:
        yield Consumers(process)
    finally:
        process.kill()
        await process.wait()


async def _converse(server: Server, measured: Followed, speeches: dict[str, Speech], others: Consumers, consumers: int) -> None:
    packets = PacketTimes()
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            if consumers:
                await others.ask(f"follow {caller.location.rpartition('/')[2]} {SSE} {REDIS} {STUCK}")
            await dialogue.wait_greeting()
            caller.on_packet = packets.add
            before, began_s = server.process.cpu_times(), time.monotonic()
            for question, speech in speeches.items():
                (exchange,) = await dialogue.turn(question, speech, RATE_HZ)
                if exchange.voice_to_voice_ms is not None:
                    measured.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
            after = server.process.cpu_times()
            measured.cpu_s += after.user + after.system - before.user - before.system
            measured.call_s += time.monotonic() - began_s
            caller.on_packet = None
            if consumers:
                measured.events += int(await others.ask("leave"))
        measured.late_ms += packets.lateness_ms()
    except MediaError as error:
        measured.problems.append(str(error))


def _rows(alone: Followed, followed: Followed) -> Iterator[Figure]:
    for name, measured in (("alone", alone), (f"with {CONSUMERS} consumers", followed)):
        yield plain(f"{name}: turns", len(measured.voice_to_voice_ms), "", 0)
        yield plain(f"{name}: packets of the agent", len(measured.late_ms), "", 0)
        if measured.call_s:
            yield plain(f"{name}: CPU-seconds a call-second", measured.cpu_s / measured.call_s, "s", 4)
    yield plain("events that the consumers got", followed.events, "", 0)
    if alone.voice_to_voice_ms and followed.voice_to_voice_ms:
        before, after = (distribution(measured.voice_to_voice_ms) for measured in (alone, followed))
        for share, one, other in (("p50", before.p50_ms, after.p50_ms), ("p95", before.p95_ms, after.p95_ms)):
            yield plain(f"alone: voice to voice {share}", one, "ms")
            yield at_most(f"{CONSUMERS} consumers / alone: voice to voice {share}", round(other / one, 3), MOST, "×")
    if alone.late_ms and followed.late_ms:
        for percent in (50, 99, 99.9):
            before_ms, after_ms = (float(np.percentile(measured.late_ms, percent)) for measured in (alone, followed))
            yield plain(f"alone: packet lateness p{percent:g}", before_ms, "ms", 2)
            later_ms = round(after_ms - before_ms, 2)
            yield at_most(f"{CONSUMERS} consumers: packets later by, p{percent:g}", later_ms, MOST_LATER_MS, "ms")
    problems = [*alone.problems, *followed.problems]
    for problem in problems:
        print(f"problem: {problem}")
    yield at_most("failed turns", len(problems), 0, "")
