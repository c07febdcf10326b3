"""Whole calls over real WebRTC with held-out everyday turns (`everyday_turns`) on published models: how often the agent is heard
before the caller has finished, and how long after the end of the turn it answers. The agent is a bare front desk with the default
weights. `--profile` names other profiles than `starter`, joined by commas."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.everyday_turns import EverydayTurn, everyday_turns
from bench.harness import Figure, at_least, at_most, plain
from bench.quiet import quiet_machine
from bench.server import running
from bench.trial import ask, greeted
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import percentile
from voiceagent.latency.spans import Stage
from voiceagent.store.database import local_store
from voiceagent.store.turns import read_turns

PROFILE = "starter"
TURNS, LEAST_TURNS = 120, 100
TURNS_A_CALL = 10
AGENT = """
name: Front desk
phrases: {greeting: "Hello, how can I help you?"}
instructions: You answer the telephone of a town hall. Answer in one short sentence.
"""
NOTES = """
Each turn is of the held-out part of `models/train/turns` (21 topics): no pattern and no espeak-ng variant of it is fitted; other
draws of these patterns are in [endpointing.md](endpointing.md). Half are spoken by the published Piper voice, half by espeak-ng,
with a room's noise, and pauses of up to three seconds after any word. The turns of a call do not belong together, so the agent's
question never helps. *Cut off*: the agent was heard before the caller had finished; 95 % intervals (Wilson) in brackets. A reply
that was begun too early and never heard does no harm: the words join. *Endpoint* is the server's own stage, over all turns.
"""


@dataclass(slots=True)
class Held:
    """The measurements of the calls on one profile."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    """Times of the turns that were not cut off."""
    cut: list[bool] = field(default_factory=list)
    """True for each turn that was cut off, in the order of `said`."""
    said: list[EverydayTurn] = field(default_factory=list)
    unanswered: int = 0
    problems: list[str] = field(default_factory=list)
    endpoint_ms: list[float] = field(default_factory=list)


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about 16 minutes a profile for 120 turns."""
    turns = await asyncio.to_thread(everyday_turns, options.turns or TURNS)
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as folder:
        agent = Path(folder) / "agent.yaml"
        agent.write_text(AGENT, encoding="utf-8")
        return itertools.chain(*[_rows(name, await held(name, agent, turns)) for name in (options.profile or PROFILE).split(",")])


async def held(profile_name: str, agent: Path, turns: Sequence[EverydayTurn]) -> Held:
    """Call a server on that profile with all turns."""
    found = Held()
    async with running("--config", str(agent), "--profile", profile_name) as server:
        for first in range(0, len(turns), TURNS_A_CALL):
            async with quiet_machine():
                await say_all(Caller(server.url), found, turns[first : first + TURNS_A_CALL])
            print(f"{profile_name}: {len(found.said)} turns, {sum(found.cut)} cut off", flush=True)
        for report in read_turns(local_store(server.data_dir)):
            found.endpoint_ms += report.durations_ms().get(Stage.ENDPOINT, [])
    return found


async def say_all(caller: Caller, found: Held, turns: Sequence[EverydayTurn]) -> None:
    """One call: the turns one after the other."""
    try:
        async with caller:
            await greeted(caller)
            for said in turns:
                turn = await ask(caller, said.audio, said.end_ms)
                found.said.append(said)
                found.cut.append(turn.cut)
                if turn.voice_to_voice_ms is not None:
                    found.voice_to_voice_ms.append(turn.voice_to_voice_ms)
                elif not turn.cut:
                    found.unanswered += 1
    except (MediaError, TimeoutError) as error:
        found.problems.append(str(error) or "no greeting")


def _rows(name: str, found: Held) -> Iterator[Figure]:
    yield at_least(f"{name}: turns", len(found.said), LEAST_TURNS, "")
    yield from rows(name, found)
    yield at_most(f"{name}: calls that failed", len(found.problems), 0, "")


def rows(name: str, found: Held) -> Iterator[Figure]:
    """Yields the measurements of one server's calls."""
    for problem in found.problems:
        print(f"problem: {name}: {problem}")
    yield from _shares(name, found)
    yield plain(f"{name}: unanswered", found.unanswered, "")
    for what, times in (("voice to voice", found.voice_to_voice_ms), ("endpoint", found.endpoint_ms)):
        if times:
            yield plain(f"{name}: {what} p50", percentile(times, 50), "ms")
            yield plain(f"{name}: {what} mean", statistics.fmean(times), "ms")
            yield plain(f"{name}: {what} p90", percentile(times, 90), "ms")


def _shares(name: str, found: Held) -> Iterator[Figure]:
    """Yields the share of turns cut off, of all, of the hesitant ones, and by speaker."""
    parts = {
        "turns": [True for _ in found.said],
        "hesitant turns": [said.hesitant for said in found.said],
        "other turns": [not said.hesitant for said in found.said],
        "turns of the Piper voice": [said.voice == "joe" for said in found.said],
        "turns of espeak-ng": [said.voice != "joe" for said in found.said],
    }
    for what, chosen in parts.items():
        cut = [was for was, mine in zip(found.cut, chosen, strict=True) if mine]
        if cut:
            low, high = interval(sum(cut), len(cut))
            label = f"{name}: {len(cut)} {what} cut off [{100 * low:.1f}–{100 * high:.1f}]"
            yield plain(label, 100 * sum(cut) / len(cut), "%")


def interval(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    z = 1.96
    share, spread = hits / of, z * z / of
    middle, half = share + spread / 2, z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)
