"""A process of `model_service.py`: callers that ask for decodes or sentences. A job comes as a line of JSON, and the times of
what was answered go out as one."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.audio.resample import resample
from voiceagent.engines import load_stt, load_tts
from voiceagent.models.registry import EngineSpec, registry
from voiceagent.stt.engine import SttEngine
from voiceagent.tts.engine import TtsEngine

SENTENCES = (
    "Please book a table for two on Friday.",
    "What is the weather in Paris tomorrow?",
    "Where is my order four eight two one?",
    "How much is twelve plus thirty four?",
    "Your table is booked for seven thirty.",
    "Could you tell me the time in London?",
)


class Callers:
    """Callers of one process."""

    def __init__(self, stt: SttEngine, tts: TtsEngine, windows: list[NDArray[np.float32]]) -> None:
        self._stt, self._tts, self._windows = stt, tts, windows

    async def ask(self, kind: str, callers: int, seconds: float) -> dict[str, list[float]]:
        """Let so many ask without a pause; the times in ms of what was answered. What is asked within the time is waited for."""
        found: dict[str, list[float]] = {"first_ms": [], "all_ms": []}
        end_s = time.perf_counter() + seconds
        await asyncio.gather(*(self._caller(kind, number, end_s, found) for number in range(callers)))
        return found

    async def _caller(self, kind: str, number: int, end_s: float, found: dict[str, list[float]]) -> None:
        while (began_s := time.perf_counter()) < end_s:
            if kind == "stt":
                await self._stt.transcribe(self._windows[number % len(self._windows)], final=True)
                first_s = time.perf_counter()
            else:
                first_s = 0.0
                async for _ in self._tts.synthesise(SENTENCES[number % len(SENTENCES)]):
                    first_s = first_s or time.perf_counter()
            found["first_ms"].append((first_s - began_s) * 1000)
            found["all_ms"].append((time.perf_counter() - began_s) * 1000)
            number += 1


async def spoken(tts: TtsEngine, text: str) -> NDArray[np.float32]:
    """A sentence as a recogniser takes it."""
    parts = [chunk.pcm async for chunk in tts.synthesise(text)]
    return resample(np.concatenate(parts), tts.sample_rate_hz, HEARD_HZ).astype(np.float32) / np.float32(32768)


async def main(profile: str, url: str) -> None:
    """Load the engines, and do the jobs until the input ends."""
    known = registry().profile(profile)
    stt, tts = (EngineSpec("remote", options={"url": url}) if url else spec for spec in (known.stt, known.tts))
    engines = await asyncio.to_thread(load_stt, stt), await asyncio.to_thread(load_tts, tts)
    windows = [await spoken(engines[1], text) for text in SENTENCES]
    callers = Callers(*engines, windows)
    for kind in ("stt", "tts"):
        await callers.ask(kind, 2, 0.5)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await callers.ask(**json.loads(line))), flush=True)
    for engine in engines:
        await engine.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
