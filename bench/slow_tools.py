"""Tools that take their time, with the bundled models over real WebRTC, timed on received audio. First a tool of 800 ms, with and
without running tools ahead of the commit: two servers are asked the same at the same time, beside one that has just been started
and knows nothing of earlier calls. Then words that no call has used before. Then a tool of 3 s, bridged with a filler."""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import aiohttp
import yaml

from bench.calls import RATE_HZ, STEP_TIMEOUT_S, spoken
from bench.harness import Figure, at_least, at_most
from bench.server import Server, running
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution
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
"""Questions, by the place of the words that the tool needs."""
UNSEEN = {
    "no argument": (
        "Tell me the date.",
        "Which day is it today?",
        "What is today's date?",
        "What's the weather like?",
        "Tell me the weather.",
    ),
    "argument in the middle": (
        "Has order {order} been shipped?",
        "Will it rain in {city} tomorrow?",
        "Do I need an umbrella in {city} tomorrow?",
        "How will the weather be in {city} on Friday?",
        "Is it going to rain in {city} on Sunday?",
    ),
    "argument last": (
        "What happened to order {order}?",
        "What's the status of order {order}?",
        "How warm is it in {city}?",
        "What's the temperature in {city}?",
        "What's the forecast for {city}?",
    ),
}
"""The same in words that no call before has used."""
CITIES = ("London", "Paris", "Rome", "Madrid", "Berlin", "Oslo", "Dublin", "Vienna", "Lisbon", "Boston", "Tokyo", "Athens")
ORDER_DIGITS = 5
ROUNDS = 4
"""Calls with each of the sentences once, and other arguments each time. The one before them is not measured: in it the servers
learn that their tools are slow."""
UNSEEN_ROUNDS = 2
"""A wording is predicted from the third time on."""
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
        if found.policy.effect == "none":
            found.function = slow(found.function)
        globals()[name] = found
"""
"""The demo agent's tools, those that look things up slowed down."""
NOTES = """
A third of the requests names no argument, a third has it in the middle, a third at its end, where the tool cannot be begun
before the last word is understood. Each round draws other cities and orders. "Waiting" is the same agent with
`turn.max_speculative_tool_calls: 0`: it begins its answer in the pause, but runs tools only after the commit. Both are asked
at the same time. Fillers are off in that part, so that what is timed is the answer. *First-time callers*: the same requests
to a server that was started for that call and knows nothing of earlier ones. *Unseen words*: other sentences, each said for
the first or second time, to the servers that know from the calls before how long the tools take. The tool of 3 s is bridged with
fillers and does not run speculatively; that server knows from earlier calls how slow it is, too. Times count from the end of the
caller's words: what it takes to find that end is in all.
"""


@dataclass(slots=True)
class Asked:
    """The measurements of one server: voice to voice by kind of request, and what went wrong."""

    voice_to_voice_ms: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    problems: list[str] = field(default_factory=list)

    @property
    def all_ms(self) -> list[float]:
        """Times of all requests."""
        return [ms for part in self.voice_to_voice_ms.values() for ms in part]


@dataclass(slots=True)
class Parts:
    """The measurements of each part."""

    early: Asked = field(default_factory=Asked)
    late: Asked = field(default_factory=Asked)
    first: Asked = field(default_factory=Asked)
    unseen: Asked = field(default_factory=Asked)
    unseen_late: Asked = field(default_factory=Asked)
    bridged: Asked = field(default_factory=Asked)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about fifteen minutes."""
    rng = random.Random(800)
    calls = [list(_requests(rng, KINDS)) for _ in range(ROUNDS + 1)]
    unseen = [list(_requests(rng, UNSEEN)) for _ in range(UNSEEN_ROUNDS)]
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        ahead = _agent(folder / "ahead", SLOW_S, filler_after_ms=0)
        waits = _agent(folder / "waits", SLOW_S, filler_after_ms=0, max_speculative_tool_calls=0)
        parts = Parts()
        async with running("--config", str(ahead)) as one, running("--config", str(waits)) as other:
            await asyncio.gather(_ask(one, calls[0], Asked()), _ask(other, calls[0], Asked()))
            before = await _speculative_calls(one)
            for requests in calls[1:]:
                async with running("--config", str(ahead)) as new:
                    asked = ((one, parts.early), (other, parts.late), (new, parts.first))
                    await asyncio.gather(*(_ask(server, requests, part) for server, part in asked))
            wasted = (await _speculative_calls(one)) - before
            for requests in unseen:
                await asyncio.gather(_ask(one, requests, parts.unseen), _ask(other, requests, parts.unseen_late))
        patient = _agent(folder / "bridged", VERY_SLOW_S, max_speculative_tool_calls=0)
        async with running("--config", str(patient)) as server:
            await _ask(server, calls[0][:LESSONS], Asked())
            await _ask(server, calls[1], parts.bridged)
    return _rows(parts, wasted)


def _requests(rng: random.Random, kinds: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each sentence once, the kinds in turn: (kind, request)."""
    for sentences in zip(*kinds.values(), strict=True):
        for kind, sentence in zip(kinds, sentences, strict=True):
            digits = " ".join(rng.choice("0123456789") for _ in range(ORDER_DIGITS))
            yield kind, sentence.format(city=rng.choice(CITIES), order=digits)


def _agent(folder: Path, seconds: float, **turn: int) -> Path:
    """The demo agent, its looking tools slowed down, with these settings of `turn` beside its own."""
    folder.mkdir()
    demo = demo_agent_file()
    (folder / "tools.py").write_text(TOOLS.format(demo=str(demo.parent / "tools.py"), seconds=seconds), encoding="utf-8")
    settings = yaml.safe_load(demo.read_text(encoding="utf-8"))
    weights = str(demo.parent / settings["turn"]["endpointing"])
    settings["turn"] = {**settings["turn"], "endpointing": weights, **turn}
    agent = folder / "agent.yaml"
    agent.write_text(yaml.safe_dump(settings), encoding="utf-8")
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


async def _speculative_calls(server: Server) -> float:
    """Tools that the server ran speculatively so far and no reply asked for."""
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as answer:
        found = re.search(
            r'^voiceagent_speculative_tool_calls_total\{outcome="wasted"\} (\S+)', await answer.text(), re.MULTILINE
        )
    return float(found[1]) if found else 0.0


def _rows(parts: Parts, wasted: float) -> list[Figure]:
    each = [getattr(parts, part.name) for part in fields(parts)]
    for problem in (problem for part in each for problem in part.problems):
        print(f"problem: {problem}")
    early, late = parts.early, parts.late
    turns = len(early.all_ms) + len(early.problems)
    failed = sum(len(part.problems) for part in each)
    total = failed + sum(len(part.all_ms) for part in each)
    waits, ahead, filled = (distribution(part.all_ms) for part in (late, early, parts.bridged))
    return [
        at_least("tool of 800 ms: turns", len(early.all_ms), ROUNDS * len(KINDS) * 5 * 0.9, ""),
        Figure("voice to voice p50, waiting for the commit", waits.p50_ms, "ms", "", True),
        Figure("voice to voice p95, waiting for the commit", waits.p95_ms, "ms", "", True),
        Figure("voice to voice p50, running speculatively", ahead.p50_ms, "ms", "", True),
        Figure("voice to voice p95, running speculatively", ahead.p95_ms, "ms", "", True),
        at_most("running speculatively to waiting, p50", ahead.p50_ms / waits.p50_ms, 0.6, ""),
        at_most("running speculatively to waiting, p95", ahead.p95_ms / waits.p95_ms, 1.0, ""),
        *(row for kind in KINDS for row in _kind_rows(kind, early, late)),
        *_other_rows("first-time callers", parts.first, late),
        *_other_rows("unseen words", parts.unseen, parts.unseen_late),
        Figure("tools run speculatively and not used, a turn", wasted / turns, "", "", True),
        Figure("tool of 3 s: turns", len(parts.bridged.all_ms), "", "", True),
        Figure("first sound p50", filled.p50_ms, "ms", "", True),
        at_most("first sound p95", filled.p95_ms, 700.0, "ms"),
        at_most("turns without a tool, or without an answer", failed / total * 100, 10.0, "%"),
    ]


def _other_rows(name: str, early: Asked, late: Asked) -> Iterator[Figure]:
    ahead, waits = distribution(early.all_ms), distribution(late.all_ms)
    yield Figure(f"{name}: turns", len(early.all_ms), "", "", True)
    yield Figure(f"{name}: p50, running speculatively", ahead.p50_ms, "ms", "", True)
    yield Figure(f"{name}: running speculatively to waiting, p50", ahead.p50_ms / waits.p50_ms, "", "", True)
    yield Figure(f"{name}: running speculatively to waiting, p95", ahead.p95_ms / waits.p95_ms, "", "", True)
    for kind in KINDS:
        one, other = distribution(early.voice_to_voice_ms[kind]), distribution(late.voice_to_voice_ms[kind])
        yield Figure(f"{name}: {kind}: running speculatively to waiting, p50", one.p50_ms / other.p50_ms, "", "", True)


def _kind_rows(kind: str, early: Asked, late: Asked) -> list[Figure]:
    waits, ahead = distribution(late.voice_to_voice_ms[kind]), distribution(early.voice_to_voice_ms[kind])
    return [
        Figure(f"{kind}: p50, waiting", waits.p50_ms, "ms", "", True),
        Figure(f"{kind}: p50, running speculatively", ahead.p50_ms, "ms", "", True),
        Figure(f"{kind}: running speculatively to waiting, p50", ahead.p50_ms / waits.p50_ms, "", "", True),
        Figure(f"{kind}: running speculatively to waiting, p95", ahead.p95_ms / waits.p95_ms, "", "", True),
    ]
