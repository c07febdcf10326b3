"""Whole calls on published models (Whisper tiny.en, a Piper voice), beside the bundled ones: how long after the end of the
caller's speech the answer is heard, how soon the agent is silent when interrupted, how many calls at once two cores carry,
and what a call costs. `--profile` names other profiles, joined by commas."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.asked_calls import Asked, ask_at_once, speeches_of
from bench.calls import INTERRUPTION, Measured, Speech, interrupt
from bench.harness import Figure, at_least, at_most, plain
from bench.peers.comparison import LONG_ANSWERS, QUESTIONS
from bench.quiet import quiet_machine
from bench.server import Server, running
from voiceagent.latency.budgets import StageLimits, distribution, load_budgets, percentile
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file

NOTES = """
The callers run on the same cores as the server, and speak the agent's published voice to the published Whisper, espeak-ng to the
bundled one. *Voice to voice* is from the end of the question to the first sound of the answer, read off the audio that the caller
sent and received; *barge-in stop* from the onset of the interruption to the agent's last sound. *Cores a call* are the server's
CPU-seconds over the seconds that calls were up. A number of calls is *within budget* while voice to voice keeps the p50 and
the p95 of `latency_budgets.yaml`; the caller's own threads count against it.
"""
REAL, BUNDLED = "real-speech", "embedded"
TURNS = 100
INTERRUPTIONS = 40
LADDER = (1, 2, 4, 8, 12)
"""Calls at once."""
BARRED_CALLS, BARRED_P50_MS = 8, 500.0
ROUND_QUESTIONS = 5
"""Questions of each call of the ladder, so that no round is long."""
ROUNDS = {1: 4, 2: 2, 4: 2}
"""Number of rounds with fewer calls, so that there are turns to count."""


@dataclass(slots=True)
class Profiled:
    """The measurements of one profile."""

    alone: Asked = field(default_factory=Asked)
    interrupted: Measured = field(default_factory=Measured)
    at_once: dict[int, Asked] = field(default_factory=dict)
    memory_mb: float = 0.0
    threads: int = 0


def result_name(options: argparse.Namespace) -> str:
    """Returns the name of the committed result: other profiles than the default ones stand beside it."""
    return f"real_{options.profile.replace(',', '_')}" if options.profile else "real"


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about 12 minutes a profile."""
    figures: list[Figure] = []
    for name in (options.profile or f"{BUNDLED},{REAL}").split(","):
        speeches = await speeches_of("" if name == BUNDLED else name, [*QUESTIONS, *LONG_ANSWERS, INTERRUPTION])
        async with running("--profile", name) as server:
            figures += _rows(name, await _measured(name, server, speeches, options.turns or TURNS))
    return figures


async def _measured(name: str, server: Server, speeches: dict[str, Speech], turns: int) -> Profiled:
    found = Profiled()
    for _ in range(-(-turns // len(QUESTIONS))):
        async with quiet_machine():
            _add(found.alone, await ask_at_once(server, speeches, QUESTIONS, 1))
        print(f"{name}: {len(found.alone.voice_to_voice_ms)} turns", flush=True)
    for _ in range(-(-min(INTERRUPTIONS, turns) // len(LONG_ANSWERS))):
        async with quiet_machine():
            await interrupt(server, found.interrupted, speeches, LONG_ANSWERS)
    for calls in LADDER:
        found.at_once[calls] = Asked()
        for round_ in range(ROUNDS.get(calls, 1)):
            first = round_ * ROUND_QUESTIONS % len(QUESTIONS)
            async with quiet_machine():
                more = await ask_at_once(server, speeches, QUESTIONS[first : first + ROUND_QUESTIONS], calls)
            _add(found.at_once[calls], more)
        print(f"{name}, {calls} at once: {_so_far(found.at_once[calls])}", flush=True)
    found.memory_mb, found.threads = server.memory_mb(), server.process.num_threads()
    return found


def _add(all_: Asked, more: Asked) -> None:
    all_.voice_to_voice_ms += more.voice_to_voice_ms
    all_.problems += more.problems
    all_.asked += more.asked
    all_.understood += more.understood
    all_.call_s += more.call_s
    all_.cpu_s += more.cpu_s


def _so_far(asked: Asked) -> str:
    if not asked.voice_to_voice_ms:
        return "nothing"
    voice = distribution(asked.voice_to_voice_ms)
    return f"{voice.p50_ms:.0f}/{voice.p95_ms:.0f} ms, {asked.cores_a_call:.3f} cores a call, {len(asked.problems)} problems"


def _rows(name: str, found: Profiled) -> Iterator[Figure]:
    limits = load_budgets(default_budgets_file()).of(name)
    voice, stop = limits[Stage.VOICE_TO_VOICE], limits[Stage.BARGE_IN_STOP]
    alone = found.alone
    yield at_least(f"{name}: turns timed", len(alone.voice_to_voice_ms), TURNS, "")
    if alone.voice_to_voice_ms:
        times = alone.voice_to_voice_ms
        yield at_most(f"{name}: voice to voice p50", round(percentile(times, 50), 1), voice.p50_ms, "ms")
        yield plain(f"{name}: voice to voice mean", statistics.fmean(times), "ms")
        yield plain(f"{name}: voice to voice p90", percentile(times, 90), "ms")
        yield at_most(f"{name}: voice to voice p95", round(percentile(times, 95), 1), voice.p95_ms, "ms")
    yield plain(f"{name}: questions understood to the word", 100 * alone.understood / max(alone.asked, 1), "%")
    yield plain(f"{name}: cores a call", alone.cores_a_call, "", 3)
    if found.interrupted.barge_in_stop_ms:
        stops = distribution(found.interrupted.barge_in_stop_ms)
        yield plain(f"{name}: interruptions timed", stops.count, "")
        yield at_most(f"{name}: barge-in stop p50", round(stops.p50_ms, 1), stop.p50_ms, "ms")
        yield at_most(f"{name}: barge-in stop p95", round(stops.p95_ms, 1), stop.p95_ms, "ms")
    yield from _ladder_rows(name, found.at_once, voice)
    yield plain(f"{name}: memory at the end", found.memory_mb, "MB")
    yield plain(f"{name}: threads at the end", found.threads, "")
    problems = [*alone.problems, *found.interrupted.problems]
    for problem in (*problems, *(problem for asked in found.at_once.values() for problem in asked.problems)):
        print(f"problem: {name}: {problem}")
    yield at_most(f"{name}: calls that failed, one at a time", len(problems), 0, "")


def _ladder_rows(name: str, at_once: dict[int, Asked], limits: StageLimits) -> Iterator[Figure]:
    within: list[int] = []
    for calls, asked in at_once.items():
        label = f"{name}, {calls} at once"
        yield plain(f"{label}: turns timed", len(asked.voice_to_voice_ms), "")
        if not asked.voice_to_voice_ms:
            continue
        voice = distribution(asked.voice_to_voice_ms)
        if calls == BARRED_CALLS and name != BUNDLED:
            yield at_most(f"{label}: voice to voice p50", round(voice.p50_ms, 1), BARRED_P50_MS, "ms")
        else:
            yield plain(f"{label}: voice to voice p50", voice.p50_ms, "ms")
        yield plain(f"{label}: voice to voice p95", voice.p95_ms, "ms")
        yield plain(f"{label}: cores a call", asked.cores_a_call, "", 3)
        yield plain(f"{label}: questions understood to the word", 100 * asked.understood / max(asked.asked, 1), "%")
        yield plain(f"{label}: calls that failed", len(asked.problems), "")
        if not asked.problems and voice.p50_ms <= limits.p50_ms and voice.p95_ms <= limits.p95_ms:
            within.append(calls)
    yield plain(f"{name}: calls at once within budget", _unbroken(within, tuple(at_once)), "")


def _unbroken(within: Sequence[int], ladder: Sequence[int]) -> int:
    """The highest step below which none is over its budget; 0: the first is."""
    reached = 0
    for calls in ladder:
        if calls not in within:
            break
        reached = calls
    return reached
