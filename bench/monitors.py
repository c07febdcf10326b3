"""Ten monitors of a call, five of which never read: the time until the answer is heard, as a ratio to calls that nobody follows.
The calls take turns on one server."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import aiohttp

from bench.calls import QUESTIONS, RATE_HZ, STEP_TIMEOUT_S, TURNS, TURNS_A_CALL, Measured, Speech, spoken
from bench.harness import Figure, at_most
from bench.server import Server, running
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution
from voiceagent.task_owner import TaskOwner

MONITORS, STUCK = 10, 5
MOST = 1.1
"""The promised ratio."""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about five minutes for 50 turns of each kind."""
    speeches = {text: spoken(text) for text in QUESTIONS}
    alone, followed = Measured(), Measured()
    async with running() as server:
        for number in range(-(-(options.turns or TURNS) // TURNS_A_CALL)):
            first, second = ((alone, 0), (followed, MONITORS))[:: 1 if number % 2 else -1]
            for measured, monitors in (first, second):
                await _converse(server, measured, speeches, monitors)
    return _rows(alone, followed)


async def _converse(server: Server, measured: Measured, speeches: dict[str, Speech], monitors: int) -> None:
    try:
        async with (
            Caller(server.url) as caller,
            Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue,
            _followed(f"{server.url}/v1/calls/{caller.location.rpartition('/')[2]}/events", monitors),
        ):
            await dialogue.wait_greeting()
            for question, speech in speeches.items():
                (exchange,) = await dialogue.turn(question, speech, RATE_HZ)
                if exchange.voice_to_voice_ms is not None:
                    measured.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
    except MediaError as error:
        measured.problems.append(str(error))


@asynccontextmanager
async def _followed(url: str, monitors: int) -> AsyncIterator[None]:
    reading = TaskOwner()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for number in range(monitors):
            response = await session.get(url)
            response.raise_for_status()
            if number >= STUCK:
                reading.start_alone(_read(response), "monitor")
        yield
        await reading.close()


async def _read(response: aiohttp.ClientResponse) -> None:
    async for _ in response.content.iter_any():
        await asyncio.sleep(0)


def _rows(alone: Measured, followed: Measured) -> Iterator[Figure]:
    for name, measured in (("alone", alone), (f"with {MONITORS} monitors", followed)):
        yield Figure(f"{name}: turns", len(measured.voice_to_voice_ms), "", "", True)
    if alone.voice_to_voice_ms and followed.voice_to_voice_ms:
        before, after = (distribution(measured.voice_to_voice_ms) for measured in (alone, followed))
        for share, one, other in (("p50", before.p50_ms, after.p50_ms), ("p95", before.p95_ms, after.p95_ms)):
            yield Figure(f"alone: voice to voice {share}", round(one, 1), "ms", "", True)
            yield at_most(f"{MONITORS} monitors / alone: voice to voice {share}", round(other / one, 3), MOST, "×")
    problems: Sequence[str] = [*alone.problems, *followed.problems]
    for problem in problems:
        print(f"problem: {problem}")
    yield at_most("failed turns", len(problems), 0, "")
