"""Whole calls of questions for the benchmark on published models: the speech of a profile's own voice or of espeak-ng goes in,
what was heard and timed comes out, with the processor time that the server took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import psutil
from numpy.typing import NDArray

from bench.calls import RATE_HZ, Speech, spoken
from bench.server import Server
from bench.stt.spelling import compared
from voiceagent.audio.resample import resample
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.engines import load_tts
from voiceagent.errors import MediaError
from voiceagent.models.registry import profile

STEP_TIMEOUT_S = 20.0


@dataclass(slots=True)
class Asked:
    """The measurements of some calls."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    asked: int = 0
    understood: int = 0
    """Questions heard to the word."""
    problems: list[str] = field(default_factory=list)
    call_s: float = 0.0
    """Duration of all calls, from the offer to the last answer's end."""
    cpu_s: float = 0.0
    """The server's."""

    @property
    def cores_a_call(self) -> float:
        """CPU-seconds a call-second."""
        return self.cpu_s / self.call_s if self.call_s else 0.0


async def speeches_of(voice: str, texts: Sequence[str]) -> dict[str, Speech]:
    """The texts, mono int16 at `RATE_HZ`, as the voice of the profile `voice` says them; of no profile: as espeak-ng does."""
    if not voice:
        return {text: spoken(text) for text in texts}
    engine = load_tts(profile(voice).tts)
    try:
        return {
            text: _trimmed(
                resample(np.concatenate([chunk.pcm async for chunk in engine.synthesise(text)]), engine.sample_rate_hz, RATE_HZ)
            )
            for text in texts
        }
    finally:
        await engine.close()


def _trimmed(pcm: NDArray[np.int16]) -> Speech:
    """Without the silence around it: from there latency counts."""
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > int(np.abs(pcm.astype(np.int32)).max()) / 30)
    return pcm[loud[0] : loud[-1] + 1]


async def ask_all(server: Server, asked: Asked, speeches: dict[str, Speech], questions: Sequence[str]) -> None:
    """One call: the questions one after the other."""
    began_s = time.monotonic()
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for question in questions:
                asked.asked += 1
                (exchange,) = await dialogue.turn(question, speeches[question], RATE_HZ)
                asked.understood += compared(exchange.caption) == compared(question)
                if exchange.voice_to_voice_ms is not None:
                    asked.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
    except MediaError as error:
        asked.problems.append(str(error))
    asked.call_s += time.monotonic() - began_s


async def ask_at_once(server: Server, speeches: dict[str, Speech], questions: Sequence[str], calls: int) -> Asked:
    """Makes this many calls at once, each with the questions in another order."""
    asked = Asked()
    before_s = cpu_s(server.process)
    shifted = [(*questions[i % len(questions) :], *questions[: i % len(questions)]) for i in range(calls)]
    await asyncio.gather(*(ask_all(server, asked, speeches, order) for order in shifted))
    asked.cpu_s = cpu_s(server.process) - before_s
    return asked


def cpu_s(process: psutil.Process) -> float:
    """Processor seconds of a server so far, user and system."""
    times = process.cpu_times()
    return float(times.user + times.system)
