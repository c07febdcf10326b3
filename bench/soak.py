"""Talk for an hour, and see what grows. Two calls at a time talk well, one after the other; among them callers are refused, leave
before they are connected, or are killed in the middle of a call. The server is looked at from outside."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from bench.asked_calls import STEP_TIMEOUT_S, Asked, ask_all, speeches_of
from bench.calls import Speech
from bench.harness import Figure, at_most, plain
from bench.peers.comparison import QUESTIONS
from bench.real import BUNDLED
from bench.server import Server, running
from bench.vllm_server import read_metrics
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.signalling import SignallingAnswer
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution

PLACES = 4
TALKERS = 2
CROWD = 4
"""Callers that come at once where two places are free."""
TROUBLE_EVERY_S = 20.0
SAMPLE_EVERY_S = 5.0
WARM_PART = 0.2
"""Share of the time after which the server is taken for settled."""
IDLE_S = 10.0
"""Nothing has changed for so long: the server is idle."""
IDLE_TIMEOUT_S = 180.0
CONFIDENCE_Z = 1.96
REFUSED = "refused the "
GREETED = "greeted"
BOUNDS = {"memory": (12.0, "MB"), "descriptors": (1.0, ""), "tasks": (1.0, ""), "threads": (1.0, ""), "UDP ports": (1.0, "")}
"""What each may grow by in an hour, and its unit."""
NOTES = """
Two calls talk at any time, each of ten questions; another begins when one is over. As many calls as that warm the server before.
Every 20 s there is trouble: four callers come at once where two places are free, a caller leaves between the answer and the
connection, or one by WebRTC or WebSocket is killed after the greeting. A slope is Theil and Sen's, over the medians of minutes,
from a fifth of the time on, and its interval holds 95 % by Sen's ranks. It fails where the lower end is above the bound. Memory,
descriptors, threads and ports are the operating system's figures of the server's process; tasks are the event loop's. Idle is a
server without a call, warm before and after all.
"""


@dataclass(frozen=True, slots=True)
class Slope:
    """A growth an hour, with the ends of its interval."""

    per_hour: float
    low: float
    high: float


def slope(hours: Sequence[float], values: Sequence[float]) -> Slope:
    """Theil and Sen's slope with Sen's interval of 95 %, ties counted. Needs three values of different times."""
    x, y = np.asarray(hours), np.asarray(values)
    i, j = np.triu_indices(len(x), 1)
    slopes = np.sort((y[j] - y[i]) / (x[j] - x[i]))
    n = len(x)
    ties = np.unique(y, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
    spread = CONFIDENCE_Z * float(np.sqrt(max(variance, 0.0)))
    low = max(0, int((len(slopes) - spread) / 2))
    high = min(len(slopes) - 1, int((len(slopes) + spread) / 2))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


@dataclass(slots=True)
class Trouble:
    """Counts of the callers who were no good ones, by what became of them."""

    refused: int = 0
    admitted: int = 0
    half_dead: int = 0
    killed: int = 0
    problems: list[str] = field(default_factory=list)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: as many minutes as are asked for."""
    name: str = options.profile or BUNDLED
    speeches = await speeches_of("" if name == BUNDLED else name, QUESTIONS)
    async with running("--profile", name, "--max-calls", str(PLACES)) as server, aiohttp.ClientSession() as session:
        return await _soak(Watched(server, session), speeches, f"{name}, {options.minutes:g} minutes", options.minutes * 60)


class Watched:
    """A server, and what it holds."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def metrics(self) -> dict[str, float]:
        """The server's own."""
        async with self._session.get(f"{self.server.url}/metrics") as answer:
            return read_metrics(await answer.text())

    async def held(self) -> dict[str, float]:
        """The amounts by the names in `BOUNDS`."""
        process = self.server.process
        tasks = (await self.metrics())["voiceagent_tasks"]
        return {
            "memory": self.server.memory_mb(),
            "descriptors": process.num_fds(),
            "tasks": tasks,
            "threads": process.num_threads(),
            "UDP ports": len(process.net_connections("udp")),
        }

    async def idle(self) -> dict[str, float]:
        """What it holds once no call is up and nothing but memory has changed for `IDLE_S`. Raises TimeoutError."""
        before: dict[str, float] = {}
        async with asyncio.timeout(IDLE_TIMEOUT_S):
            while True:
                now = await self.held()
                calls = (await self.metrics())["voiceagent_calls_active"]
                if not calls and {**now, "memory": 0.0} == {**before, "memory": 0.0}:
                    return now
                before = now
                await asyncio.sleep(IDLE_S)


async def _soak(watched: Watched, speeches: dict[str, Speech], label: str, duration_s: float) -> Iterable[Figure]:
    warming, asked, trouble = Asked(), Asked(), Trouble()
    for kind in range(len(KINDS)):
        await _trouble(watched.server, trouble, kind)
    await asyncio.gather(*(ask_all(watched.server, warming, speeches, QUESTIONS) for _ in range(TALKERS)))
    before = await watched.idle()
    trouble = Trouble()
    began_s = time.monotonic()
    end_s = began_s + duration_s
    samples: list[tuple[float, dict[str, float]]] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(TALKERS):
            group.create_task(_talk(watched.server, asked, speeches, end_s))
        group.create_task(_trouble_until(watched.server, trouble, end_s))
        while time.monotonic() < end_s:
            samples.append(((time.monotonic() - began_s) / 3600, await watched.held()))
            print(json.dumps([round(samples[-1][0], 5), samples[-1][1]]), file=sys.stderr, flush=True)
            await asyncio.sleep(SAMPLE_EVERY_S)
    after = await watched.idle()
    for problem in (*asked.problems, *trouble.problems):
        print(f"problem: {label}: {problem}")
    return itertools.chain(_calls(label, asked, trouble), _slopes(label, samples, duration_s / 3600), _idle(label, before, after))


async def _talk(server: Server, asked: Asked, speeches: dict[str, Speech], end_s: float) -> None:
    """Make calls one after the other. One that the crowd left no place is made again."""
    while time.monotonic() < end_s:
        one = Asked()
        await ask_all(server, one, speeches, QUESTIONS)
        asked.voice_to_voice_ms += one.voice_to_voice_ms
        if one.problems and REFUSED in one.problems[0]:
            await asyncio.sleep(1.0)
        else:
            asked.asked += 1
            asked.problems += one.problems


async def _trouble_until(server: Server, trouble: Trouble, end_s: float) -> None:
    for kind in itertools.count():
        if time.monotonic() + TROUBLE_EVERY_S > end_s:
            return
        await asyncio.sleep(TROUBLE_EVERY_S)
        await _trouble(server, trouble, kind % len(KINDS))


async def _trouble(server: Server, trouble: Trouble, kind: int) -> None:
    try:
        await KINDS[kind](server, trouble)
    except (MediaError, TimeoutError) as error:
        if REFUSED in str(error):
            trouble.refused += 1
            return
        trouble.problems.append(f"{KINDS[kind].__name__.strip('_')}: {error or type(error).__name__}")


async def _crowd(server: Server, trouble: Trouble) -> None:
    """More callers than there are places come at once. Those who get one leave when all have been answered."""
    callers = [Caller(server.url, connect_timeout_s=30.0) for _ in range(CROWD)]
    for outcome in await asyncio.gather(*(caller.connect() for caller in callers), return_exceptions=True):
        if isinstance(outcome, MediaError) and REFUSED in str(outcome):
            trouble.refused += 1
        elif isinstance(outcome, BaseException):
            trouble.problems.append(f"crowd: {outcome}")
        else:
            trouble.admitted += 1
    await asyncio.gather(*(caller.hangup() for caller in callers))


class _Leaver(Caller):
    """Gone once the server has answered: no connection comes, and nobody hangs up."""

    async def _answer_to(self, offer: str) -> SignallingAnswer:
        answered = await super()._answer_to(offer)
        raise MediaError(f"left {answered.location}")


async def _half_dead(server: Server, trouble: Trouble) -> None:
    try:
        await _Leaver(server.url).connect()
    except MediaError as error:
        if not str(error).startswith("left "):
            raise
        trouble.half_dead += 1


async def _killed_webrtc(server: Server, trouble: Trouble) -> None:
    await _killed(server, trouble, "webrtc")


async def _killed_websocket(server: Server, trouble: Trouble) -> None:
    await _killed(server, trouble, "websocket")


async def _killed(server: Server, trouble: Trouble, transport: str) -> None:
    """A caller in a process of its own is killed in the middle of its call."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.soak", server.url, transport, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    told = (await child.stdout.readline()).decode().strip()
    if child.returncode is None:
        child.kill()
    await child.wait()
    if told != GREETED:
        raise MediaError(f"the caller by {transport} who was to be killed ended by itself: {told}")
    trouble.killed += 1


KINDS = (_crowd, _half_dead, _killed_webrtc, _half_dead, _killed_websocket)


async def _greeted(url: str, transport: str) -> None:
    """A call that waits for its end after the greeting, of which it tells."""
    caller = Caller(url)
    if transport == "websocket":
        caller.transport = "websocket"
    try:
        async with caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            print(GREETED, flush=True)
            await caller.wait_ended()
    except MediaError as error:
        print(error, flush=True)


def _calls(label: str, asked: Asked, trouble: Trouble) -> Iterator[Figure]:
    yield plain(f"{label}: calls that talked", asked.asked, "")
    yield plain(f"{label}: turns", len(asked.voice_to_voice_ms), "")
    yield at_most(f"{label}: turns or calls that failed", len(asked.problems), 0, "")
    yield plain(f"{label}: callers refused, of those who came at once", trouble.refused, "")
    yield plain(f"{label}: callers who left before they were connected", trouble.half_dead, "")
    yield plain(f"{label}: callers killed in a call", trouble.killed, "")
    yield at_most(f"{label}: troubles that went otherwise", len(trouble.problems), 0, "")
    if asked.voice_to_voice_ms:
        voice = distribution(asked.voice_to_voice_ms)
        yield plain(f"{label}: voice to voice p50", voice.p50_ms, "ms")
        yield plain(f"{label}: voice to voice p95", voice.p95_ms, "ms")


def _slopes(label: str, samples: Sequence[tuple[float, Mapping[str, float]]], hours: float) -> Iterator[Figure]:
    minutes: dict[int, list[tuple[float, Mapping[str, float]]]] = {}
    for at_hours, held in samples:
        if at_hours >= hours * WARM_PART:
            minutes.setdefault(int(at_hours * 60), []).append((at_hours, held))
    for name, (bound, unit) in BOUNDS.items():
        medians = [float(np.median([held[name] for _, held in part])) for part in minutes.values()]
        found = slope([float(np.mean([at_hours for at_hours, _ in part])) for part in minutes.values()], medians)
        yield plain(f"{label}: {name} once warm", medians[0], unit)
        yield plain(f"{label}: {name} at the end", medians[-1], unit)
        yield plain(f"{label}: {name}, slope", found.per_hour, f"{unit} an hour".strip(), 2)
        yield at_most(f"{label}: {name}, slope, lower end", round(found.low, 2), bound, f"{unit} an hour".strip())
        yield plain(f"{label}: {name}, slope, upper end", found.high, f"{unit} an hour".strip(), 2)


def _idle(label: str, before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[Figure]:
    for name, (_, unit) in BOUNDS.items():
        yield plain(f"{label}: {name}, idle before", before[name], unit)
        if name == "memory":
            yield plain(f"{label}: {name}, idle after", after[name], unit)
        else:
            yield at_most(f"{label}: {name}, idle after", after[name], before[name], unit)


if __name__ == "__main__":
    asyncio.run(_greeted(*sys.argv[1:]))
