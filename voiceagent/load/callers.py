"""Callers in a process of their own, so that their work is not the server's: `python -m voiceagent.load.callers`. The first line
of its input is a `CallerJob` as JSON. Each further line is a number, the calls that are to go on from now on, or `measure`, from
when on counts are made, or `report`, for a line of JSON with them. The end of the input ends all calls."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import sys
import time
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_HZ
from voiceagent.capacity.load_result import LoadTurn
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange
from voiceagent.client.packet_times import PacketTimes
from voiceagent.errors import MediaError
from voiceagent.task_owner import TaskOwner

BEAT_S = 0.05
"""The interval at which the lag of the callers' own event loop is measured."""
AGAIN_S = 2.0
"""After this time a caller who was refused calls again."""
REFUSED = "refused the "
MAX_PROBLEMS = 100


class CallerJob(msgspec.Struct, frozen=True):
    """The calls to make."""

    url: str
    token: str
    leg: str
    """`webrtc` or `websocket`."""
    speech: str
    """An `.npz` file of utterances in the order of `words`, mono 16 bits at `PLAYED_HZ`."""
    words: list[str]
    turns: int
    """The turns of a call; another call begins when it is over."""
    pause_s: float
    """The mean pause between an answer's end and the next words."""
    timeout_s: float
    seed: int


class LoadCounts(msgspec.Struct):
    """The counts of some callers since they were told to measure."""

    turns: list[LoadTurn] = []
    calls: int = 0
    """Calls that came up."""
    call_s: float = 0.0
    """Time on the line of all of them, as far as it was measured."""
    refused: list[str] = []
    failed: list[str] = []
    """A line for each call that broke off, and each turn without an answer."""
    missing: int = 0
    """Packets that never came."""
    late_ms: list[float] = []
    """Lateness of each packet; over the WebSocket there are none."""
    lag_ms: list[float] = []
    """Lateness of the callers' own event loop."""
    cpu_s: float = 0.0
    """Processor time of the callers' process."""

    def add(self, other: LoadCounts) -> None:
        """Add another process's."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class _Line:
    """A call that is up, and since when it is measured."""

    since_s: float
    packets: PacketTimes


class Callers:
    """The callers of this process."""

    def __init__(self, job: CallerJob, speeches: dict[str, NDArray[np.int16]]) -> None:
        self._job, self._speeches = job, speeches
        self._tasks = TaskOwner()
        self._begun = 0
        self._lines: dict[Caller, _Line] = {}
        self._counts, self._cpu_before_s = LoadCounts(), 0.0
        self._tasks.start_alone(self._watch_loop(), "lag of callers")

    def begin(self, calls: int) -> None:
        """Have so many callers in all, each of whom calls again and again."""
        for number in range(self._begun, calls):
            self._tasks.start_alone(self._call_again(number), f"caller {number}")
        self._begun = max(self._begun, calls)

    def measure(self) -> None:
        """Count from now on."""
        self._counts, self._cpu_before_s = LoadCounts(), time.process_time()
        for line in self._lines.values():
            line.since_s = time.monotonic()
            line.packets.forget()
        gc.collect()
        gc.freeze()  # a collection of all the callers' objects would make packets look late

    def report(self) -> LoadCounts:
        """The counts since then."""
        counts = self._counts
        counts.cpu_s = time.process_time() - self._cpu_before_s
        for line in self._lines.values():
            self._leave(line)
            line.since_s = time.monotonic()
            line.packets.forget()
        return counts

    async def close(self) -> None:
        """End all calls."""
        await self._tasks.close()

    async def _call_again(self, number: int) -> None:
        dice = random.Random(self._job.seed * 1_000_003 + number)
        await asyncio.sleep(dice.random() * self._job.pause_s)
        while True:
            await self._call(dice)

    async def _call(self, dice: random.Random) -> None:
        job = self._job
        caller = Caller(job.url, job.token or None)
        if job.leg == "websocket":
            caller.transport = "websocket"
        line = _Line(time.monotonic(), PacketTimes())
        caller.on_packet = line.packets.add
        try:
            async with caller, Dialogue(caller, timeout_s=job.timeout_s) as dialogue:
                self._counts.calls += 1
                self._lines[caller] = line
                if await dialogue.greets():
                    await dialogue.wait_greeting()
                order = dice.sample(job.words, len(job.words))
                for words in itertools.islice(itertools.cycle(order), job.turns):
                    (exchange,) = await dialogue.turn(words, self._speeches[words], PLAYED_HZ)
                    self._turn(caller, exchange)
                    await asyncio.sleep(job.pause_s * (0.5 + dice.random()))
        except (MediaError, TimeoutError) as error:
            told = str(error) or type(error).__name__
            if REFUSED in told:
                _note(self._counts.refused, told)
                await asyncio.sleep(AGAIN_S)
            else:
                _note(self._counts.failed, told)
        finally:
            if self._lines.pop(caller, None) is not None:
                self._leave(line)

    def _turn(self, caller: Caller, exchange: Exchange) -> None:
        if exchange.failure or exchange.voice_to_voice_ms is None:
            _note(self._counts.failed, f"{exchange.said!r}: {exchange.failure or 'no sound of an answer'}")
            return
        measured = exchange.turn or {}
        wait: dict[str, float] = {}
        for piece in measured.get("wait") or ():
            wait[piece["part"]] = wait.get(piece["part"], 0.0) + piece["duration_ms"]
        ended_ms = caller.said.last_voiced_ms or 0.0
        answer_ms = (caller.heard.last_voiced_ms or 0.0) - ended_ms - exchange.voice_to_voice_ms
        self._counts.turns.append(
            LoadTurn(
                round(exchange.voice_to_voice_ms, 1),
                round(len(self._speeches[exchange.said]) / PLAYED_HZ, 3),
                round(max(0.0, answer_ms) / 1000, 3),
                [(span["stage"], span["start_ms"], span["duration_ms"]) for span in measured.get("spans") or ()],
                {part: round(ms, 2) for part, ms in wait.items()},
            )
        )

    def _leave(self, line: _Line) -> None:
        self._counts.call_s += time.monotonic() - line.since_s
        self._counts.missing += line.packets.missing
        self._counts.late_ms += [round(ms, 1) for ms in line.packets.lateness_ms()]

    async def _watch_loop(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self._counts.lag_ms.append(round(max(0.0, loop.time() - due_s) * 1000.0, 1))


def _note(lines: list[str], line: str) -> None:
    if len(lines) < MAX_PROBLEMS:
        lines.append(line)


async def _run() -> None:
    lines = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    job = msgspec.json.decode(await lines.readline(), type=CallerJob)
    with np.load(job.speech) as speech:
        callers = Callers(job, dict(zip(job.words, (speech[name] for name in speech.files), strict=True)))
    try:
        async for line in lines:
            match line.decode().strip():
                case "measure":
                    callers.measure()
                case "report":
                    print(msgspec.json.encode(callers.report()).decode(), flush=True)
                case number:
                    callers.begin(int(number))
    finally:
        await callers.close()


if __name__ == "__main__":
    asyncio.run(_run())
