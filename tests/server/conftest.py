"""A server without engines: its calls only wait for their end, so that what is tested is the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from voiceagent.capacity.settings import AdmissionSettings
from voiceagent.errors import MediaError
from voiceagent.latency.budget_file import load_budgets
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Playout
from voiceagent.resources import default_budgets_file
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.http.app import Service
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.telephone.application import TelephonePart
from voiceagent.telephone.sip.line import SipService
from voiceagent.telephone.streams.lines import NO_TELEPHONE, Telephone


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
        return call

    @asynccontextmanager
    async def load(self) -> AsyncIterator[StartCall]:
        await self.load_gate.wait()
        if self.load_error is not None:
            raise self.load_error
        self.engines_open = True
        yield self.start_call
        self.engines_open = False


MakeService = Callable[..., Service]


@pytest.fixture
async def switchboard() -> Switchboard:
    return Switchboard()


@pytest.fixture
def make_service(switchboard: Switchboard, tmp_path: Path) -> MakeService:
    folder = tmp_path / "web"
    (folder / "lib").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Call</title>")
    (folder / "lib" / "client.js").write_text("export const x = 1;\n")
    (folder / "notes.txt").write_text("private")
    (tmp_path / "secret.json").write_text("{}")
    limits = load_budgets(default_budgets_file()).of("embedded")

    def make(
        *,
        admission: AdmissionSettings | None = None,
        telephone: Telephone = NO_TELEPHONE,
        sip: SipService | None = None,
        **changes: Any,
    ) -> Service:
        metrics = Metrics()
        settings: dict[str, Any] = {
            "answer": switchboard.answer,
            "load": switchboard.load,
            "profile": "embedded",
            "limits": limits,
            "metrics": metrics,
            "admission": Admission(admission or AdmissionSettings(), metrics),
            "parts": (TelephonePart(telephone, sip),),
            "web_folder": folder,
        }
        return Service(**{**settings, **changes})

    return make
