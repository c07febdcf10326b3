"""Callers who do nothing wrong, in a process of their own: they ask a question again and again, and write down what the received
audio says. `python -m tests.attacks.honest URL --calls 2 --turns 10` prints an `Experience` as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.train.espeak import Espeak
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.media.rtp import RtpPacket

RATE_HZ = 16_000
QUESTION = "What time is it in Paris?"
FRAME_TICKS = 960
"""20 ms of the RTP clock."""
STEP_TIMEOUT_S = 20.0


@dataclass(slots=True)
class Experience:
    """What the callers met."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    gaps_ms: list[float] = field(default_factory=list)
    """Between the arrivals of packets whose audio is 20 ms apart."""
    refused: list[str] = field(default_factory=list)
    """What callers who were not let in were told."""
    failed: list[str] = field(default_factory=list)
    """What became of calls that were let in and did not go well."""
    calls: int = 0
    """How many were let in."""


def percentile(values: Sequence[float], percent: float) -> float:
    """Of no values: not a number."""
    return float(np.percentile(values, percent)) if values else float("nan")


def question() -> NDArray[np.int16]:
    """The question, mono, without silence around it."""
    audio = Espeak().say(QUESTION, "en-us").resampled(RATE_HZ)
    loud = np.flatnonzero(np.abs(audio) > np.abs(audio).max() / 30)
    audio = audio[loud[0] : loud[-1] + 1]
    scaled: NDArray[np.int16] = (audio / np.abs(audio).max() * 0.5 * 32767).astype(np.int16)
    return scaled


class GapMeter:
    """Takes the packets of one call."""

    def __init__(self, gaps_ms: list[float]) -> None:
        self._gaps_ms = gaps_ms
        self._last: tuple[int, int, float] | None = None

    def __call__(self, packet: RtpPacket, at_ms: float) -> None:
        """A packet has arrived."""
        last = self._last
        self._last = (packet.sequence_number, packet.timestamp, at_ms)
        if last is None or (packet.sequence_number - last[0]) & 0xFFFF != 1:
            return
        if (packet.timestamp - last[1]) & 0xFFFFFFFF == FRAME_TICKS:
            self._gaps_ms.append(at_ms - last[2])


async def converse(url: str, key: str | None, turns: int, speech: NDArray[np.int16], met: Experience, *, warm: int = 1) -> None:
    """One call. The first `warm` turns are not counted."""
    caller = Caller(url, key)
    caller.on_packet = GapMeter(met.gaps_ms)
    try:
        await caller.connect()
    except MediaError as error:
        met.refused.append(str(error))
        return
    met.calls += 1
    try:
        async with Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for turn in range(turns + warm):
                (exchange,) = await dialogue.turn(QUESTION, speech, RATE_HZ)
                if turn >= warm and exchange.voice_to_voice_ms is not None:
                    met.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
    except MediaError as error:
        met.failed.append(str(error))
    finally:
        await caller.hangup()


async def talk(url: str, key: str | None, calls: int, turns: int, between_s: float) -> Experience:
    """So many calls, each begun `between_s` after the one before."""
    met = Experience()
    speech = question()
    async with asyncio.TaskGroup() as group:
        for _ in range(calls):
            group.create_task(converse(url, key, turns, speech, met))
            await asyncio.sleep(between_s)
    return met


async def meet(url: str, *, calls: int = 2, turns: int = 10, key: str = "", between_s: float = 0.1) -> Experience:
    """Run this file in a process of its own."""
    command = [sys.executable, "-m", "tests.attacks.honest", url, "--calls", str(calls), "--turns", str(turns)]
    process = await asyncio.create_subprocess_exec(
        *command, "--key", key, "--between", str(between_s), stdout=asyncio.subprocess.PIPE
    )
    try:
        told, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
    assert process.returncode == 0
    return Experience(**json.loads(told))


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--key", default="")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--between", type=float, default=0.1)
    given = parser.parse_args()
    met = asyncio.run(talk(given.url, given.key or None, given.calls, given.turns, given.between))
    print(json.dumps(asdict(met)))


if __name__ == "__main__":
    main()
