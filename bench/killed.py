"""A server that is killed in the middle of its calls' replies, beside another one on the same store: how long until each call
goes on there, and until its caller hears the agent again. And what it costs a call that its server keeps it: processor time with
and without."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Literal

import psutil

from bench.calls import QUESTIONS, RATE_HZ, STEP_TIMEOUT_S, Measured, Speech, spoken
from bench.calls import converse as talk
from bench.harness import Figure, at_most, plain
from bench.program import answering
from bench.server import running
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.latency.budgets import distribution
from voiceagent.resources import demo_agent_file

KILLS = 8
"""Servers that are killed, unless another number is asked for."""
TRANSPORTS: tuple[Literal["websocket", "webrtc"], ...] = ("websocket", "webrtc")
MOST_S = 3.0
ROUNDS = 3
CALLS = 2
"""Calls at once of each round that measures the cost."""
ASKED = "What can you do?"
"""Its answer is the longest."""
NOTES = """
The callers are the Python client's, which over WebRTC takes a call for lost once nothing has come for 2 s. The store is SQLite.
"""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about five minutes."""
    speeches = {text: spoken(text) for text in QUESTIONS}
    times: dict[str, list[tuple[float, float]]] = {transport: [] for transport in TRANSPORTS}
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        files = {keeps: _agent(folder, keeps) for keeps in ("false", "always")}
        async with _server(folder, "second") as (second, _):
            for _ in range(options.turns or KILLS):
                await _kill(folder, second, speeches[ASKED], times)
        ms: dict[str, list[float]] = {keeps: [] for keeps in files}
        for number in range(2 * ROUNDS):
            keeps = ("false", "always", "always", "false")[number % 4]
            ms[keeps].append(await _cost(files[keeps], speeches))
    return _rows(times, ms)


def _agent(folder: Path, keeps: str) -> Path:
    """The demo agent, which keeps its calls in this way."""
    demo, file = demo_agent_file(), folder / f"{keeps}.yaml"
    text = demo.read_text(encoding="utf-8").replace("turn:\n", f"turn:\n  resume_after_restart: {keeps}\n")
    for name in ("tools.py", "endpointing.json"):
        text = text.replace(name, str(demo.parent / name))
    file.write_text(text, encoding="utf-8")
    return file


def _server(folder: Path, name: str) -> AbstractAsyncContextManager[tuple[str, psutil.Process]]:
    config = ("--config", str(folder / "always.yaml"))
    command = (sys.executable, "-m", "voiceagent", "serve", "--port", "0", *config)
    return answering(folder / f"{name}.log", *command, VOICEAGENT_DATA=str(folder))


async def _kill(folder: Path, second: str, speech: Speech, times: Mapping[str, list[tuple[float, float]]]) -> None:
    async with _server(folder, "first") as (url, process), AsyncExitStack() as stack:
        callers: list[tuple[Caller, Dialogue]] = []
        for transport in TRANSPORTS:
            caller = Caller(url)
            caller.transport = transport
            await stack.enter_async_context(caller)
            dialogue = await stack.enter_async_context(Dialogue(caller, timeout_s=STEP_TIMEOUT_S))
            await dialogue.wait_greeting()
            callers.append((caller, dialogue))
        since = [dialogue.event_count for _, dialogue in callers]
        for caller, _ in callers:
            caller.say(speech, RATE_HZ)
        for (_, dialogue), first in zip(callers, since, strict=True):
            await dialogue.wait_event(lambda event: len(str(event.data.get("heard", "")).split()) > 2, first, "some words")
        for caller, _ in callers:
            caller.url = second
        process.kill()
        killed_ms = time.monotonic() * 1000.0
        found = await asyncio.gather(*(_taken_up(caller, killed_ms) for caller, _ in callers))
        for (caller, _), one in zip(callers, found, strict=True):
            times[caller.transport].append(one)


async def _taken_up(caller: Caller, killed_ms: float) -> tuple[float, float]:
    """How long after the kill the call went on, and its caller heard the agent again, in seconds."""
    resumed_ms = heard_ms = 0.0
    async with asyncio.timeout(STEP_TIMEOUT_S):
        while not heard_ms:
            await asyncio.sleep(0.005)
            if caller.resumed and not resumed_ms:
                resumed_ms = time.monotonic() * 1000.0
            if resumed_ms:  # packets that are missing are guessed for a moment: that is no sound of the agent
                heard_ms = caller.heard.first_onset_after(resumed_ms) or 0.0
    return (resumed_ms - killed_ms) / 1000.0, (heard_ms - killed_ms) / 1000.0


async def _cost(config: Path, speeches: dict[str, Speech]) -> float:
    """The server's processor time for a second of a call, in milliseconds."""
    async with running("--config", str(config)) as server:
        await talk(server, Measured(), speeches, QUESTIONS[:1])
        measured, before, began_s = Measured(), server.process.cpu_times(), time.monotonic()
        await asyncio.gather(*(talk(server, measured, speeches, QUESTIONS) for _ in range(CALLS)))
        after, took_s = server.process.cpu_times(), time.monotonic() - began_s
    if measured.problems:
        raise RuntimeError(f"a call failed: {measured.problems[0]}")
    return (after.user + after.system - before.user - before.system) * 1000.0 / (took_s * CALLS)


def _rows(times: Mapping[str, list[tuple[float, float]]], ms: Mapping[str, list[float]]) -> Iterator[Figure]:
    for transport, found in times.items():
        yield plain(f"{transport}: calls whose server was killed", len(found), "", 0)
        went_on, heard = (distribution([pair[place] for pair in found]) for place in (0, 1))
        yield plain(f"{transport}: goes on after, p50", went_on.p50_ms, "s", 2)
        yield at_most(f"{transport}: goes on after, longest", round(went_on.p99_ms, 2), MOST_S, "s")
        yield plain(f"{transport}: the agent is heard again after, p50", heard.p50_ms, "s", 2)
        yield plain(f"{transport}: the agent is heard again after, longest", heard.p99_ms, "s", 2)
    without, kept = (distribution(ms[keeps]).p50_ms for keeps in ("false", "always"))
    yield plain("processor time of a second of a call, without", without, "ms")
    yield plain("processor time of a second of a call, kept", kept, "ms")
