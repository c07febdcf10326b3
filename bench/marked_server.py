"""A server whose replies can be told apart by ear: the VAD, Whisper, the turn engine, the playout and WebRTC are those of a real
call, but each reply is a tone of its own, ten seconds long, written and spoken piece by piece as engines do. For benchmarks of
what is still heard of a reply after its end: `python -m bench.marked_server --port PORT`."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import numpy as np

from voiceagent.call import Call
from voiceagent.call.scope import AgentParts
from voiceagent.conversation.events import SpokenWord
from voiceagent.conversation.history import Message
from voiceagent.engines import Engines, load_stt
from voiceagent.errors import EngineError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.engine import Generated, GeneratedText, HistoryLimits, KvCapacity, ToolSchema, Urgency
from voiceagent.media.leg import Leg
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.models.registry import profile
from voiceagent.resources import default_budgets_file
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.calls import StartCall
from voiceagent.server.http.app import Service, make_app
from voiceagent.server.http.run import serve
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings, AgentConfig, TurnSettings
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.spoken_voice import AgentSpeech

RATE_HZ = 24_000
TONES_HZ = tuple(range(400, 3200, 200))
"""Reply n of a call is `TONES_HZ[n % len(TONES_HZ)]`."""
LEVEL = 0.25
FIRST_TOKEN_S = 0.03
TOKEN_S = 0.005
CLAUSE_S = 2.5
CHUNK_S = 0.2
CHUNK_TIME_S = 0.03
"""A chunk takes this long to make."""
PROFILE = "embedded"


class Numbered:
    """A language model whose replies say which one they are."""

    load = 0.0
    limits = HistoryLimits()
    problems: ClassVar[dict[str, int]] = {}

    def open(self, call_id: str) -> NumberedSession:
        """A call, whose replies are counted."""
        return NumberedSession()

    async def kv_capacity(self) -> KvCapacity | None:
        """It has no cache."""
        return None

    async def close(self) -> None:
        """Nothing is held."""


class NumberedSession:
    """One call's replies."""

    def __init__(self) -> None:
        self._number = 0

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """The next reply's words, one after the other."""
        self._number += 1
        number = self._number
        reply = f"Reply {number} goes on, reply {number} has more to say. Reply {number} does not stop. Reply {number} is over."
        await asyncio.sleep(FIRST_TOKEN_S)
        for word in reply.split():
            yield GeneratedText(word + " ")
            await asyncio.sleep(TOKEN_S)

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """Nothing is read ahead."""

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """It knows no words."""
        return None

    async def close(self) -> None:
        """Nothing is held."""


class Tones:
    """A voice that speaks each clause as the tone of its reply."""

    sample_rate_hz = RATE_HZ

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        """`CLAUSE_S` of tone. Raises EngineError for a clause without a reply's number."""
        found = re.search(r"\d+", text)
        if found is None:
            raise EngineError(f"the clause {text!r} has no number; expected one of a numbered reply")
        time_s = np.arange(int(CLAUSE_S * RATE_HZ)) / RATE_HZ
        tone = np.sin(2 * np.pi * TONES_HZ[int(found[0]) % len(TONES_HZ)] * time_s)
        pcm = (tone * LEVEL * 32767).astype(np.int16)
        words = text.split()
        each_ms = CLAUSE_S * 1000.0 / len(words)
        spoken = tuple(SpokenWord(word, i * each_ms, (i + 1) * each_ms) for i, word in enumerate(words))
        size = int(CHUNK_S * RATE_HZ)
        for start in range(0, len(pcm), size):
            await asyncio.sleep(CHUNK_TIME_S)
            yield SpeechChunk(pcm[start : start + size], spoken if start == 0 else ())

    async def close(self) -> None:
        """Nothing is held."""


def service(max_calls: int) -> Service:
    """The application's view of it."""
    budgets, agent = load_budgets(default_budgets_file()), AgentConfig(profile=PROFILE, turn=TurnSettings(overlap="eager"))
    metrics = Metrics()
    unguarded = load_guards(GuardSettings(output=OutputRules(secrets=False, cards=False)))

    async def answer(offer: str) -> tuple[Leg, str]:
        return await WebRtcLeg.answer(offer)

    @asynccontextmanager
    async def load() -> AsyncIterator[StartCall]:
        engines = Engines(await asyncio.to_thread(load_stt, profile(PROFILE).stt), Numbered(), Tones())
        await engines.stt.transcribe(np.zeros(RATE_HZ, np.float32), final=True)

        speech = AgentSpeech(SpeechSettings(written_forms=False), {}, ".", engines.tts)

        def start_call(leg: Leg, call_id: str, session: dict[str, Any]) -> Call:
            return Call(call_id, leg, AgentParts(agent, engines, unguarded, speech, budgets), CallTools(ToolSet()))

        try:
            yield start_call
        finally:
            await engines.close()

    admission = Admission(AdmissionSettings(max_calls=max_calls), metrics)
    return Service(answer, load, PROFILE, budgets.of(PROFILE), metrics, admission)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--max-calls", type=int, default=64)
    options = parser.parse_args()
    app = make_app(service(options.max_calls))
    asyncio.run(serve(app, "127.0.0.1", options.port, on_ready=lambda url: print(f"answers at {url}", flush=True)))
