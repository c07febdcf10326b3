"""Loads a server until its answers are late, with and without the actions of its latency budgets, and measures on received audio
how long callers wait and what they go without."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.asked_calls import cpu_s, speeches_of
from bench.calls import QUESTIONS, RATE_HZ, STEP_TIMEOUT_S, Speech
from bench.degrading import KEPT
from bench.harness import Figure, at_least, at_most, plain
from bench.server import Server, running
from bench.soak import REFUSED
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import percentile
from voiceagent.latency.burn import OnMiss
from voiceagent.latency.spans import LegKind, Stage, TurnReport
from voiceagent.store.database import local_store
from voiceagent.store.turns import read_turns

PROFILE = "embedded"
FEW = 2
RAMP = (6, 10, 14, 18, 24, 30)
"""Numbers of calls, of which the first is taken at which the p95 has doubled."""
SETTLE_S = 90.0
"""The time until callers are out of step, and until actions have begun. Turns before are left out."""
TURNS_A_CALL = 5
"""Then the caller hangs up and calls again, so that fewer calls can be admitted."""
MEASURED_S = 60.0
RAMP_S = 30.0
ROUNDS = 2
"""Each round has a server of each kind, the second one in the other order."""
RETRY_S = 5.0
LEAST_MS = 5.0
"""Parts of the mean wait that are shorter are left out."""
NOTES = f"""\
Callers and server share this machine. *Few* are {FEW} calls at a time. *Many* are the first of {RAMP} at which the p95
has doubled (or `--calls N`), with the default (`warn`), and with `on_miss` at `voice_to_voice` and `llm_ttft`, in turn;
{ROUNDS} rounds, the second in the other order, a new server each. Calls have {TURNS_A_CALL} turns; then the caller calls again,
and one who is refused after {RETRY_S:g} s. The limit of `voice_to_voice` is {KEPT:g} times the p95 of few calls. The first
{SETTLE_S:g} s of each server are left out. Times are those of received audio; what was given up is counted in the server's
turns. *Of the mean wait* are its parts of {LEAST_MS:g} ms or more.
"""


@dataclass(slots=True)
class Loaded:
    """The turns under one kind of load."""

    waits_ms: list[float] = field(default_factory=list)
    turns: list[TurnReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    seconds: float = 0.0
    seconds_talked: float = 0.0
    """Of all calls together."""
    refused: int = 0

    def p95_ms(self) -> float:
        """Of the waits."""
        return percentile(self.waits_ms, 95)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: half an hour; with `--calls N` 18 minutes."""
    name: str = options.profile or PROFILE
    speeches = await speeches_of("" if name == PROFILE else name, QUESTIONS)
    few, many = Loaded(), {on_miss: Loaded() for on_miss in OnMiss}
    await _load(few, name, speeches, FEW, "", MEASURED_S)
    limit_ms = KEPT * few.p95_ms()
    calls = options.calls[0] if options.calls else await _enough(name, speeches, 2 * few.p95_ms())
    for number in range(ROUNDS):
        for on_miss, loaded in [*many.items()][:: -1 if number % 2 else 1]:
            await _load(loaded, name, speeches, calls, _budgets(name, limit_ms, on_miss), MEASURED_S)
    return _rows(few, many, calls)


async def _enough(name: str, speeches: dict[str, Speech], p95_ms: float) -> int:
    """The first number of calls at which the p95 is that long."""
    for calls in RAMP:
        loaded = Loaded()
        await _load(loaded, name, speeches, calls, "", RAMP_S)
        if loaded.p95_ms() >= p95_ms:
            return calls
    return RAMP[-1]


def _budgets(name: str, limit_ms: float, on_miss: OnMiss) -> str:
    limits = f"p50: {limit_ms:.0f} ms, p95: {limit_ms:.0f} ms, p99: {limit_ms:.0f} ms"
    parts = ", ".join(f"{stage}: {{p50: 1 ms, p95: 1 s, p99: 2 s}}" for stage in (Stage.ENDPOINT, Stage.STT_WAIT, Stage.ANSWER))
    acting = f"voice_to_voice: {{{limits}, on_miss: {on_miss}}}, llm_ttft: {{on_miss: {on_miss}}}"
    return f"{name}: {{extends: {name}, {parts}, {acting}}}\n"


async def _load(loaded: Loaded, name: str, speeches: dict[str, Speech], calls: int, budgets: str, measured_s: float) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(budgets)
        file.flush()
        more = ("--budgets", file.name) if budgets else ()
        async with running("--profile", name, "--max-calls", str(calls + 1), *more) as server:
            from_s = time.monotonic() + SETTLE_S
            until_s = from_s + measured_s
            await asyncio.gather(
                _watch(loaded, server, from_s, until_s),
                *(_talk(loaded, server, speeches, number, from_s, until_s) for number in range(calls)),
            )
            loaded.turns += _turns(server.data_dir, time.time() - measured_s)


def _turns(folder: Path, since: float) -> Sequence[TurnReport]:
    return [turn for turn in read_turns(local_store(folder), since=since) if turn.leg is LegKind.WEBRTC]


async def _watch(loaded: Loaded, server: Server, from_s: float, until_s: float) -> None:
    await asyncio.sleep(from_s - time.monotonic())
    before_s = cpu_s(server.process)
    await asyncio.sleep(until_s - time.monotonic())
    loaded.cpu_s += cpu_s(server.process) - before_s
    loaded.seconds += until_s - from_s


async def _talk(loaded: Loaded, server: Server, speeches: dict[str, Speech], number: int, from_s: float, until_s: float) -> None:
    """One caller: one call after the other. The first calls begin half a second apart. A caller who is refused tries again."""
    await asyncio.sleep(0.5 * number)
    questions = itertools.cycle((*QUESTIONS[number % len(QUESTIONS) :], *QUESTIONS[: number % len(QUESTIONS)]))
    while time.monotonic() < until_s:
        try:
            async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
                await dialogue.wait_greeting()
                for _ in range(TURNS_A_CALL):
                    if (began_s := time.monotonic()) >= until_s:
                        break
                    question = next(questions)
                    (exchange,) = await dialogue.turn(question, speeches[question], RATE_HZ)
                    if began_s >= from_s:
                        loaded.seconds_talked += time.monotonic() - began_s
                        if exchange.voice_to_voice_ms is not None:
                            loaded.waits_ms.append(exchange.voice_to_voice_ms)
        except MediaError as error:
            if REFUSED in str(error):
                loaded.refused += 1
                await asyncio.sleep(RETRY_S)
            else:
                loaded.problems.append(str(error))


def _rows(few: Loaded, many: dict[OnMiss, Loaded], calls: int) -> Iterator[Figure]:
    for name, loaded in ((f"{FEW} calls", few), *((f"{calls} calls, {on_miss}", loaded) for on_miss, loaded in many.items())):
        yield plain(f"{name}: turns", len(loaded.waits_ms), "", 0)
        yield plain(f"{name}: voice to voice, p50", percentile(loaded.waits_ms, 50), "ms", 0)
        yield plain(f"{name}: voice to voice, mean", sum(loaded.waits_ms) / len(loaded.waits_ms), "ms", 0)
        yield plain(f"{name}: voice to voice, p95", loaded.p95_ms(), "ms", 0)
        yield plain(f"{name}: calls up, mean", loaded.seconds_talked / loaded.seconds, "", 1)
        yield plain(f"{name}: offers refused", loaded.refused, "", 0)
        yield plain(f"{name}: cores of the server", loaded.cpu_s / loaded.seconds, "", 2)
        turns = max(1, len(loaded.turns))
        partials = sum(span.stage is Stage.STT_PARTIAL for turn in loaded.turns for span in turn.spans)
        begun = sum(turn.facts.kept + turn.facts.discarded for turn in loaded.turns)
        kept = sum(turn.facts.kept for turn in loaded.turns)
        yield plain(f"{name}: partial decodes a turn", partials / turns, "", 2)
        yield plain(f"{name}: speculative replies a turn", begun / turns, "", 2)
        yield plain(f"{name}: of these kept", 100 * kept / max(1, begun), "%", 0)
        yield plain(f"{name}: tokens written a turn", sum(turn.facts.tokens for turn in loaded.turns) / turns, "", 1)
        yield plain(f"{name}: turns degraded", 100 * sum(bool(turn.facts.degraded) for turn in loaded.turns) / turns, "%", 0)
        for degradation, count in Counter(one for turn in loaded.turns for one in turn.facts.degraded).items():
            yield plain(f"{name}: turns with {degradation}", 100 * count / turns, "%", 0)
        waits = [turn.wait for turn in loaded.turns if turn.wait is not None]
        parts = Counter[str]()
        for wait in waits:
            parts.update({part.value: ms for part, ms in wait.totals_ms().items()})
        for part, ms in parts.most_common():
            if ms >= LEAST_MS * len(waits):
                yield plain(f"{name}: of the mean wait: {part}", ms / len(waits), "ms", 0)
        yield at_most(f"{name}: calls that failed", len(loaded.problems), 0, "")
    times = {on_miss: round(loaded.p95_ms() / few.p95_ms(), 2) for on_miss, loaded in many.items()}
    yield at_least("p95 with many calls, warn, over few", times.pop(OnMiss.WARN), 2, "times")
    for on_miss, found in times.items():
        yield at_most(f"p95 with many calls, {on_miss}, over few", found, KEPT, "times")
