"""Talk for a long time: one call that lasts all of it, whose history grows, beside short calls one after the other. What the
server holds at the end is compared with what it held once it was warm."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence

from bench.asked_calls import STEP_TIMEOUT_S, Asked, ask_all, speeches_of
from bench.calls import RATE_HZ, Speech
from bench.harness import Figure, at_most
from bench.peers.comparison import QUESTIONS
from bench.real import BUNDLED
from bench.server import Server, running
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution

PROFILE = "starter"
NOTES = """
One call lasts all of the time, and its history grows. Beside it short calls of ten questions are made one after the other, so
there are two callers at any time. Their models run on the same cores. Memory and threads are the server's.
"""
WARM_PART = 0.1
"""Share of the time after which memory is taken for settled."""
MEMORY_GROWTH_PERCENT = 10.0


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: as many minutes as are asked for."""
    name: str = options.profile or PROFILE
    speeches = await speeches_of("" if name == BUNDLED else name, QUESTIONS)
    async with running("--profile", name) as server:
        return await _soak(name, server, speeches, QUESTIONS, options.minutes)


async def _soak(
    name: str, server: Server, speeches: dict[str, Speech], questions: Sequence[str], minutes: float
) -> Iterable[Figure]:
    first, last, short = Asked(), Asked(), Asked()
    began_s = time.monotonic()
    end_s = began_s + minutes * 60
    warm_s = began_s + minutes * 60 * WARM_PART
    held = asyncio.create_task(_one_call(server, first, last, speeches, questions, warm_s, end_s))
    while time.monotonic() < warm_s and not held.done():
        await ask_all(server, short, speeches, questions)
    memory_mb, threads = server.memory_mb(), server.process.num_threads()
    while time.monotonic() < end_s and not held.done():
        await ask_all(server, short, speeches, questions)
    await held
    growth = (server.memory_mb() / memory_mb - 1) * 100
    label = f"{name}, {minutes:g} minutes"
    problems = [*first.problems, *last.problems, *short.problems]
    for problem in problems:
        print(f"problem: {label}: {problem}")
    return [
        Figure(f"{label}: turns", sum(len(part.voice_to_voice_ms) for part in (first, last, short)), "", "", True),
        at_most(f"{label}: turns or calls that failed", len(problems), 0, ""),
        *_times(f"{label}, the long call's first tenth", first),
        *_times(f"{label}, the rest of the long call", last),
        *_times(f"{label}, short calls beside it", short),
        Figure(f"{label}: memory once warm", round(memory_mb, 1), "MB", "", True),
        Figure(f"{label}: memory at the end", round(server.memory_mb(), 1), "MB", "", True),
        at_most(f"{label}: memory growth", round(growth, 1), MEMORY_GROWTH_PERCENT, "%"),
        Figure(f"{label}: threads once warm", threads, "", "", True),
        at_most(f"{label}: threads at the end", server.process.num_threads(), threads, ""),
    ]


async def _one_call(
    server: Server, first: Asked, last: Asked, speeches: dict[str, Speech], questions: Sequence[str], warm_s: float, end_s: float
) -> None:
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            turn = 0
            while (now_s := time.monotonic()) < end_s:
                question = questions[turn % len(questions)]
                (exchange,) = await dialogue.turn(question, speeches[question], RATE_HZ)
                assert exchange.voice_to_voice_ms is not None
                (first if now_s < warm_s else last).voice_to_voice_ms.append(exchange.voice_to_voice_ms)
                turn += 1
    except MediaError as error:
        last.problems.append(f"the long call: {error}")


def _times(label: str, asked: Asked) -> list[Figure]:
    if not asked.voice_to_voice_ms:
        return []
    voice = distribution(asked.voice_to_voice_ms)
    return [
        Figure(f"{label}: voice to voice p50", round(voice.p50_ms, 1), "ms", "", True),
        Figure(f"{label}: voice to voice p95", round(voice.p95_ms, 1), "ms", "", True),
    ]
