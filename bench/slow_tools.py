"""Tools that take their time, with the bundled models over real WebRTC, timed on received audio. First a tool of 800 ms, with and
without running tools ahead of the commit: two servers are asked the same at the same time. Then a tool of 3 s, bridged with a
filler."""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bench.calls import RATE_HZ, STEP_TIMEOUT_S, spoken
from bench.server import Server, running
from voiceagent.errors import MediaError
from voiceagent.latency.percentiles import distribution
from voiceagent.media.caller import Caller
from voiceagent.media.dialogue import Dialogue
from voiceagent.models.figures import Figure, at_least, at_most
from voiceagent.resources import demo_agent_file

KINDS = {
    "no argument": (
        "Can you tell me the time please?",
        "What time is it right now?",
        "What is the date today please?",
        "Do you know what day it is?",
        "How is the weather please?",
    ),
    "argument in the middle": (
        "Please check order {order} for me.",
        "When will order {order} arrive?",
        "What's the weather in {city} tomorrow please?",
        "What time is it in {city} please?",
        "Tell me the weather in {city} please.",
    ),
    "argument last": (
        "Where is order {order}?",
        "What's the weather in {city} tomorrow?",
        "What time is it in {city}?",
        "What's the weather in {city}?",
        "Is it raining in {city}?",
    ),
}
"""What is asked, by where the words stand that the tool needs."""
CITIES = ("London", "Paris", "Rome", "Madrid", "Berlin", "Oslo", "Dublin", "Vienna", "Lisbon", "Boston", "Tokyo", "Athens")
ORDER_DIGITS = 5
ROUNDS = 4
"""Calls with each of the sentences once, and other arguments each time. The one before them is not measured: in it the servers
learn that their tools are slow."""
LESSONS = 9
"""Requests in which each tool has run once."""
SLOW_S, VERY_SLOW_S = 0.8, 3.0
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
NOTES = """
A third of the requests names no argument, a third has it in the middle, a third at its end, where the tool cannot be begun before
the last word is understood. Each round draws other cities and orders. "Waiting" is the same agent with `turn.max_lookups: 0`: it
begins its answer in the pause, but runs tools only after the commit. Both are asked at the same time. Fillers are off in that
part, so that what is timed is the answer. The tool of 3 s is bridged with fillers and does not run ahead; that server knows from
earlier calls how slow it is, too. Times count from the end of the caller's words: what it takes to find that end is in all.
"""


@dataclass(slots=True)
class Asked:
    """What one server was asked: voice to voice by kind of request, and what went wrong."""

    voice_to_voice_ms: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    problems: list[str] = field(default_factory=list)

    @property
    def all_ms(self) -> list[float]:
        """Of all requests."""
        return [ms for part in self.voice_to_voice_ms.values() for ms in part]


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about ten minutes."""
    rng = random.Random(800)
    calls = [list(_requests(rng)) for _ in range(ROUNDS + 1)]
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        ahead = _agent(folder / "ahead", SLOW_S, "turn: {filler_after_ms: 0}")
        waits = _agent(folder / "waits", SLOW_S, "turn: {filler_after_ms: 0, max_lookups: 0}")
        early, late = Asked(), Asked()
        async with running("--config", str(ahead)) as one, running("--config", str(waits)) as other:
            await asyncio.gather(_ask(one, calls[0], Asked()), _ask(other, calls[0], Asked()))
            before = await _lookups(one)
            for requests in calls[1:]:
                await asyncio.gather(_ask(one, requests, early), _ask(other, requests, late))
            wasted = (await _lookups(one)) - before
        bridged = Asked()
        async with running("--config", str(_agent(folder / "bridged", VERY_SLOW_S, "turn: {max_lookups: 0}"))) as server:
            await _ask(server, calls[0][:LESSONS], Asked())
            await _ask(server, calls[1], bridged)
    return _rows(early, late, bridged, wasted)


def _requests(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Each sentence once, the kinds in turn: (kind, request)."""
    for sentences in zip(*KINDS.values(), strict=True):
        for kind, sentence in zip(KINDS, sentences, strict=True):
            digits = " ".join(rng.choice("0123456789") for _ in range(ORDER_DIGITS))
            yield kind, sentence.format(city=rng.choice(CITIES), order=digits)


def _agent(folder: Path, seconds: float, settings: str) -> Path:
    """The demo agent, its looking tools slowed down."""
    folder.mkdir()
    demo = demo_agent_file()
    (folder / "tools.py").write_text(TOOLS.format(demo=str(demo.parent / "tools.py"), seconds=seconds), encoding="utf-8")
    agent = folder / "agent.yaml"
    agent.write_text(f"{demo.read_text(encoding='utf-8')}\n{settings}\n", encoding="utf-8")
    return agent


async def _ask(server: Server, requests: Sequence[tuple[str, str]], asked: Asked) -> None:
    """Ask them one after the other; after a turn that failed the rest in a call of its own."""
    left = list(requests)
    while left:
        try:
            async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
                await dialogue.wait_greeting()
                while left:
                    kind, request = left.pop(0)
                    (exchange,) = await dialogue.turn(request, spoken(request), RATE_HZ)
                    if exchange.voice_to_voice_ms is None or not exchange.tools:
                        asked.problems.append(f"{request}: {exchange.caption!r} was answered without a tool, or not at all")
                    else:
                        asked.voice_to_voice_ms[kind].append(exchange.voice_to_voice_ms)
        except MediaError as error:
            asked.problems.append(str(error))


async def _lookups(server: Server) -> float:
    """Tools that the server ran ahead in vain so far."""
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as answer:
        found = re.search(r'^voiceagent_lookups_total\{outcome="wasted"\} (\S+)', await answer.text(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def _rows(early: Asked, late: Asked, bridged: Asked, wasted: float) -> list[Figure]:
    for problem in (*early.problems, *late.problems, *bridged.problems):
        print(f"problem: {problem}")
    turns = len(early.all_ms) + len(early.problems)
    failed = len(early.problems) + len(late.problems) + len(bridged.problems)
    total = turns + len(late.all_ms) + len(late.problems) + len(bridged.all_ms) + len(bridged.problems)
    waits, ahead, filled = (distribution(part.all_ms) for part in (late, early, bridged))
    return [
        at_least("tool of 800 ms: turns", len(early.all_ms), ROUNDS * len(KINDS) * 5 * 0.9, ""),
        Figure("voice to voice p50, waiting for the commit", waits.p50_ms, "ms", "", True),
        Figure("voice to voice p95, waiting for the commit", waits.p95_ms, "ms", "", True),
        Figure("voice to voice p50, running ahead", ahead.p50_ms, "ms", "", True),
        Figure("voice to voice p95, running ahead", ahead.p95_ms, "ms", "", True),
        at_most("running ahead to waiting, p50", ahead.p50_ms / waits.p50_ms, 0.6, ""),
        at_most("running ahead to waiting, p95", ahead.p95_ms / waits.p95_ms, 1.0, ""),
        *(row for kind in KINDS for row in _kind_rows(kind, early, late)),
        Figure("tools run ahead in vain, a turn", wasted / turns, "", "", True),
        Figure("tool of 3 s: turns", len(bridged.all_ms), "", "", True),
        Figure("first sound p50", filled.p50_ms, "ms", "", True),
        at_most("first sound p95", filled.p95_ms, 700.0, "ms"),
        at_most("turns without a tool, or without an answer", failed / total * 100, 10.0, "%"),
    ]


def _kind_rows(kind: str, early: Asked, late: Asked) -> list[Figure]:
    waits, ahead = distribution(late.voice_to_voice_ms[kind]), distribution(early.voice_to_voice_ms[kind])
    return [
        Figure(f"{kind}: p50, waiting", waits.p50_ms, "ms", "", True),
        Figure(f"{kind}: p50, running ahead", ahead.p50_ms, "ms", "", True),
        Figure(f"{kind}: running ahead to waiting, p50", ahead.p50_ms / waits.p50_ms, "", "", True),
        Figure(f"{kind}: running ahead to waiting, p95", ahead.p95_ms / waits.p95_ms, "", "", True),
    ]
