"""Stand-ins for parts that are not under test: legs and calls over which nothing comes, a server's switchboard, engines that wait
or give a fixed answer. A fake that only one test file uses is in that file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.history import Message
from voiceagent.errors import MediaError
from voiceagent.latency.spans import LegKind
from voiceagent.llm.engine import Generated, GeneratedText, HistoryLimits, KvCapacity, ToolSchema, Urgency
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.leg import DeliverAudio, Leg
from voiceagent.media.playout import Playout
from voiceagent.media.websocket.event_audio import Encoding
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.http.app import Service
from voiceagent.stt.engine import StreamOptions
from voiceagent.stt.hypothesis import Hypothesis

MakeService = Callable[..., Service]
Said = Callable[[str], Awaitable[tuple[NDArray[np.int16], int]]]
"""Makes speech of a text: mono int16 and its rate."""
Words = Callable[[NDArray[np.int16], int], Awaitable[str]]
"""Reads speech back: mono int16 and its rate."""


class SilentLeg:
    """A connection over which nothing comes."""

    def __init__(self) -> None:
        self.playout = Playout()
        self.cleaner = AudioCleaner()
        self.kind = LegKind.WEBRTC
        self.closed = asyncio.Event()
        self.end_reason = ""
        self.counters: dict[str, int] = {}
        self.drops: dict[str, int] = {}

    async def frames(self) -> AsyncIterator[Any]:
        await self.closed.wait()
        return
        yield

    async def client_events(self) -> AsyncIterator[str]:
        await self.closed.wait()
        return
        yield

    def send_event(self, event: dict[str, Any]) -> None:
        return None

    def deliver_audio(self, deliver: DeliverAudio) -> None:
        return None

    def use(self, taken: Encoding, given: Encoding) -> None:
        return None

    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return None, None

    async def wait_connected(self) -> bool:
        return True

    async def close(self) -> None:
        self.closed.set()


class WaitingCall:
    """A call that lasts until it is hung up, or fails when it is told to."""

    def __init__(self, leg: Leg, call_id: str, session: dict[str, Any]) -> None:
        self.leg = leg
        self.call_id = call_id
        self.session = session
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def run(self) -> str:
        return await self.end

    def hang_up(self, reason: str) -> None:
        if not self.end.done():
            self.end.set_result(reason)


class DeafCall(WaitingCall):
    """A call that nothing ends."""

    def hang_up(self, reason: str) -> None: ...


class Switchboard:
    """What the server under test answers with, and what it did."""

    def __init__(self) -> None:
        self.legs: list[SilentLeg] = []
        self.calls: list[WaitingCall] = []
        self.begun = asyncio.Event()
        """Set once a call has begun."""
        self.load_gate = asyncio.Event()
        self.load_gate.set()
        self.load_error: Exception | None = None
        self.engines_open = False
        self.deaf_to_hang_up = False

    async def answer(self, offer: str) -> tuple[Leg, str]:
        if not offer.startswith("v=0"):
            raise MediaError("The offer is not SDP; expected it to begin with v=0.")
        leg = SilentLeg()
        self.legs.append(leg)
        return leg, "v=0\r\nanswer\r\n"

    def start_call(self, leg: Leg, call_id: str, session: dict[str, Any]) -> CallHandle:
        call = (DeafCall if self.deaf_to_hang_up else WaitingCall)(leg, call_id, session)
        self.calls.append(call)
        self.begun.set()
        return call

    @asynccontextmanager
    async def load(self) -> AsyncIterator[StartCall]:
        await self.load_gate.wait()
        if self.load_error is not None:
            raise self.load_error
        self.engines_open = True
        yield self.start_call
        self.engines_open = False


class IdleEngine:
    """An engine of every kind, which is asked for nothing in this call but for a session."""

    sample_rate_hz = 24_000
    load = 0.0
    limits = HistoryLimits()

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.closed = 0

    def open(self, call_id: str) -> IdleEngine:
        self.opened.append(call_id)
        return self

    async def prefill(self, *_: Any) -> None:
        return None

    async def close(self) -> None:
        self.closed += 1


class HeldRecogniser:
    """Decodes for as long as it is waited for."""

    max_audio_s = 30.0
    stream = StreamOptions()
    dropped_partials = 0

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.given_up = False

    async def transcribe(self, audio: NDArray[np.float32], **_: Any) -> Hypothesis:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up = True
        raise AssertionError

    async def close(self) -> None: ...


class SecondModel:
    """Says which one it is, and takes a few words of a conversation."""

    load = 0.0
    limits = HistoryLimits(history_tokens=20)
    problems: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        self.told: list[Sequence[Message]] = []
        self.opened = 0

    def open(self, call_id: str) -> SecondSession:
        self.opened += 1
        return SecondSession(self.told)

    async def kv_capacity(self) -> KvCapacity | None:
        return None

    async def close(self) -> None:
        return None


class SecondSession:
    def __init__(self, told: list[Sequence[Message]]) -> None:
        self._told = told

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        self._told.append(messages)
        yield GeneratedText("the fallback")

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        return None

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        return 0.25

    async def close(self) -> None:
        return None
