"""Tools that take their time, with the bundled models over real WebRTC, timed on received audio. First a tool of 800 ms, with and
without running tools ahead of the commit, on two servers in turn: a third of the requests needs no argument, a third has its
argument in the middle, a third at its end, where nothing can be foreseen. Then a tool of 3 s, bridged with a filler."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench.calls import RATE_HZ, STEP_TIMEOUT_S, Measured, spoken
from bench.server import Server, running
from voiceagent.errors import MediaError
from voiceagent.latency.percentiles import distribution
from voiceagent.media.caller import Caller
from voiceagent.media.dialogue import Dialogue
from voiceagent.models.figures import Figure, at_least, at_most
from voiceagent.resources import demo_agent_file

REQUESTS = (
    "How is the weather?",
    "When will order 4 8 2 1 3 arrive?",
    "What's the weather in London tomorrow?",
    "What day is it today?",
    "Has order 5 5 1 7 2 been shipped?",
    "What time is it in Paris?",
    "Tell me the time, please.",
    "Please check order 9 0 2 4 6 for me.",
    "What's the weather in Rome?",
)
TURNS = 45
SLOW_S, VERY_SLOW_S = 0.8, 3.0
WARM_UP = 1
"""Calls before the measured ones, in which the server learns that its tools are slow."""
TOOLS = """
import asyncio
import importlib.util

from voiceagent.tools.decorator import FunctionTool

spec = importlib.util.spec_from_file_location("demo", {demo!r})
demo = importlib.util.module_from_spec(spec)
spec.loader.exec_module(demo)


def slow(function):
    async def run(**given):
        await asyncio.sleep({seconds})
        return function(**given)

    return run


for name, found in vars(demo).items():
    if isinstance(found, FunctionTool):
        if found.rule.effect == "none":
            found.function = slow(found.function)
        globals()[name] = found
"""
"""The demo agent's tools, those that look things up slowed down."""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about a quarter of an hour."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        ahead = _agent(folder / "ahead", SLOW_S, "turn: {filler_after_ms: 0}")
        waits = _agent(folder / "waits", SLOW_S, "turn: {filler_after_ms: 0, max_lookups: 0}")
        early, late = Measured(), Measured()
        async with running("--config", str(ahead)) as one, running("--config", str(waits)) as other:
            for _ in range(WARM_UP):
                await _converse(one, Measured())
                await _converse(other, Measured())
            for _ in range(-(-TURNS // len(REQUESTS))):
                await _converse(one, early)
                await _converse(other, late)
        bridged = Measured()
        async with running("--config", str(_agent(folder / "bridged", VERY_SLOW_S, "turn: {max_lookups: 0}"))) as server:
            for _ in range(2):
                await _converse(server, bridged)
    return _rows(early, late, bridged)


def _agent(folder: Path, seconds: float, settings: str) -> Path:
    """The demo agent, its looking tools slowed down."""
    folder.mkdir()
    demo = demo_agent_file()
    (folder / "tools.py").write_text(TOOLS.format(demo=str(demo.parent / "tools.py"), seconds=seconds), encoding="utf-8")
    agent = folder / "agent.yaml"
    agent.write_text(f"{demo.read_text(encoding='utf-8')}\n{settings}\n", encoding="utf-8")
    return agent


async def _converse(server: Server, measured: Measured) -> None:
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for request in REQUESTS:
                (exchange,) = await dialogue.turn(request, spoken(request), RATE_HZ)
                if exchange.voice_to_voice_ms is None or not exchange.tools:
                    measured.problems.append(f"{request}: {exchange.caption!r} was answered without a tool, or not at all")
                else:
                    measured.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
    except MediaError as error:
        measured.problems.append(str(error))


def _rows(early: Measured, late: Measured, bridged: Measured) -> list[Figure]:
    ahead, waits, filled = (distribution(part.voice_to_voice_ms) for part in (early, late, bridged))
    assert ahead is not None
    assert waits is not None
    assert filled is not None
    failed = len(early.problems) + len(late.problems) + len(bridged.problems)
    return [
        at_least("tool of 800 ms: turns", len(early.voice_to_voice_ms), TURNS * 0.9, ""),
        Figure("voice to voice p50, waiting for the commit", waits.p50_ms, "ms", "", True),
        Figure("voice to voice p95, waiting for the commit", waits.p95_ms, "ms", "", True),
        Figure("voice to voice p50, running ahead", ahead.p50_ms, "ms", "", True),
        Figure("voice to voice p95, running ahead", ahead.p95_ms, "ms", "", True),
        at_most("running ahead to waiting, p50", ahead.p50_ms / waits.p50_ms, 0.6, ""),
        at_most("running ahead to waiting, p95", ahead.p95_ms / waits.p95_ms, 1.0, ""),
        Figure("tool of 3 s: turns", len(bridged.voice_to_voice_ms), "", "", True),
        Figure("first sound p50", filled.p50_ms, "ms", "", True),
        at_most("first sound p95", filled.p95_ms, 700.0, "ms"),
        at_most("turns without a tool, or without an answer", failed / (2 * TURNS + 2 * len(REQUESTS)) * 100, 10.0, "%"),
    ]
