"""A server with a SIP line to a PBX, whose calls echo, and say what they are told to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes import MakeService
from tests.telephone.sip_parts import GATEWAY_SECRET, HOST, PASSWORD, WEBHOOK_SECRET, free_port, janus, pbx
from tests.telephone.tones import tone
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Playout, Position
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.settings.telephone import SipSettings
from voiceagent.telephone.application import LINE
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.phone_leg import TRANSFERRED
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE, SipPatience
from voiceagent.telephone.sip.line import SipLine, SipService, Trunk
from voiceagent.telephone.sip.sip_leg import SipLeg

LAST_REPLY = 9


class SipTestCall:
    """Says back what it hears, as reply 1, where it `echoes`; `typed` is what its leg's client said."""

    def __init__(self, leg: Leg, session: dict[str, Any], echoes: bool, changed: Callable[[], None], summary_s: float) -> None:
        assert isinstance(leg, SipLeg)
        self.leg = leg
        self.session = session
        self.echoes = echoes
        self.heard: list[np.ndarray] = []
        self.cleaned: list[np.ndarray] = []
        """The same for the voice detector, where the leg cleans it."""
        self.typed: list[dict[str, Any]] = []
        self.sent: list[Position] = []
        self.ended = ""
        self.transfers: list[str] = []
        """How they went: nothing, or why they failed."""
        self.briefing = ToneBriefing(self, summary_s)
        self._transferring: set[asyncio.Task[None]] = set()
        self._changed = changed
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        leg.playout.on_sent = self._on_sent

    async def run(self) -> str:
        jobs = [asyncio.create_task(self._hear()), asyncio.create_task(self._type())]
        await asyncio.wait((jobs[0], self._end), return_when=asyncio.FIRST_COMPLETED)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        self.ended = self._end.result() if self._end.done() else self.leg.end_reason
        await self.leg.close()
        self._changed()
        return self.ended

    async def _hear(self) -> None:
        up = StreamResampler(16_000, 24_000, quality="QQ")
        async for frame in self.leg.frames():
            self.heard.append(frame.pcm)
            if frame.cleaned is not None:
                self.cleaned.append(frame.cleaned)
            if self.echoes:
                self.leg.playout.push(1, 0, up.process(frame.pcm), complete=False)
            self._changed()

    async def _type(self) -> None:
        async for text in self.leg.client_events():
            self.typed.append(json.loads(text))
            self._changed()

    def _on_sent(self, position: Position) -> None:
        self.sent.append(position)
        if position[0] == LAST_REPLY and self.leg.playout.idle:
            self.hang_up(TRANSFERRED)
        self._changed()

    def say(self, pcm: np.ndarray, reply_id: int = 2) -> None:
        self.leg.playout.push(reply_id, 0, pcm, complete=True)

    def transfer(self, to: str) -> None:
        self._transferring.add(task := asyncio.create_task(self._transfer(to)))
        task.add_done_callback(self._transferring.discard)

    async def _transfer(self, to: str) -> None:
        self.transfers.append(await self.transfer_to(to))
        self._changed()

    async def transfer_to(self, name: str) -> str:
        """How that went: nothing, or why it failed."""
        return await self.leg.transfer(name, self.briefing)

    def last_words(self) -> None:
        self.say(tone(0.6, LAST_WORDS_HZ, PLAYED_HZ), LAST_REPLY)

    def hang_up(self, reason: str) -> None:
        if not self._end.done():
            self._end.set_result(reason)


SUMMARY_HZ, LAST_WORDS_HZ, GONE_HZ = 1300, 1700, 2100
"""What a colleague is told, what both hear before the agent leaves, and that the caller has hung up."""


class ToneBriefing:
    """Briefs in tones."""

    def __init__(self, call: SipTestCall, summary_s: float) -> None:
        self._call = call
        self._summary_s = summary_s

    async def summary(self) -> str:
        return "a tone"

    async def brief(self, playout: Playout, summary: str, key: str) -> None:
        assert summary == "a tone"
        playout.push(0, 0, tone(self._summary_s, SUMMARY_HZ, PLAYED_HZ), complete=True)

    async def say_caller_left(self, playout: Playout) -> None:
        playout.push(1, 0, tone(0.6, GONE_HZ, PLAYED_HZ), complete=True)

    def say_connected(self) -> None:
        self._call.last_words()


class SipWorld:
    """Janus and the PBX can be ended and begun again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[SipTestCall] = []
        self.unanswered: list[tuple[CallFacts, str]] = []
        self.echoes = True
        self.summary_s = 0.6
        self.pbx_port, self.janus_port = free_port(), free_port(socket.SOCK_STREAM)
        self.line: SipLine
        self.app: web.Application
        self.session: aiohttp.ClientSession
        self.url = ""
        self._changed = asyncio.Event()
        self._pbx = AsyncExitStack()
        self._janus = AsyncExitStack()

    async def begin_pbx(self) -> None:
        await self._pbx.enter_async_context(pbx(self.folder, self.pbx_port))

    async def end_pbx(self) -> None:
        await self._pbx.aclose()

    async def begin_janus(self) -> None:
        self.janus_process = await self._janus.enter_async_context(janus(self.folder / "janus", self.janus_port))

    async def kill_janus(self) -> None:
        self.janus_process.kill()
        await self.janus_process.wait()
        await self._janus.aclose()

    @contextmanager
    def stalled_janus(self) -> Iterator[None]:
        """Janus keeps its connections and does nothing meanwhile."""
        os.killpg(self.janus_process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.janus_process.pid, signal.SIGCONT)

    def uri(self, user: str) -> str:
        return f"sip:{user}@{HOST}:{self.pbx_port}"

    def settings(self, **changes: Any) -> SipSettings:
        """Those of the line; what needs the world's addresses is a function of it."""
        changes = {name: value(self) if callable(value) else value for name, value in changes.items()}
        ours = {"account": self.uri("agent"), "gateway": f"ws://{HOST}:{self.janus_port}", "calls": 3, "expires_s": 10}
        return SipSettings(**{**ours, **changes})

    def start_call(self, leg: Leg, call_id: str, session: dict[str, Any]) -> CallHandle:
        self.calls.append(SipTestCall(leg, session, self.echoes, self.changed, self.summary_s))
        self.changed()
        return self.calls[-1]

    def changed(self) -> None:
        self._changed.set()

    async def wait(self, condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
        """Until a call's doing makes `condition` true."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            calls = [(call.ended, call.typed, call.leg.counters) for call in self.calls]
            raise AssertionError(f"the calls have come no further than {calls}") from error

    async def dial(self, to: str, **more: str) -> tuple[int, dict[str, Any]]:
        async with self.session.post(f"{self.url}/v1/voiceagent/dial", json={"to": to, **more}) as response:
            return response.status, await response.json()


@asynccontextmanager
async def sip_world(
    folder: Path,
    make_service: MakeService,
    *,
    password: str = PASSWORD,
    secret: str = GATEWAY_SECRET,
    ports: MediaPorts = ANY_PORT,
    patience: SipPatience = SIP_PATIENCE,
    **settings: Any,
) -> AsyncIterator[SipWorld]:
    """All of it, up; registered where the password is right."""
    world = SipWorld(folder)
    await world.begin_pbx()
    await world.begin_janus()
    trunk = Trunk.from_settings(
        world.settings(**settings),
        {
            "VOICEAGENT_SIP_PASSWORD": password,
            "VOICEAGENT_JANUS_SECRET": secret,
            "VOICEAGENT_WEBHOOK_SECRET": WEBHOOK_SECRET,
        },
    )

    @asynccontextmanager
    async def load() -> AsyncIterator[StartCall]:
        yield world.start_call

    def unanswered(facts: CallFacts, reason: str) -> None:
        world.unanswered.append((facts, reason))

    app = make_app(make_service(load=load, sip=SipService(trunk, ports, patience), unanswered=unanswered))
    try:
        async with TestClient(TestServer(app)) as client, aiohttp.ClientSession() as session:
            await app[READINESS].wait()
            world.app = app
            world.line, world.session, world.url = app[LINE], session, str(client.make_url("")).rstrip("/")
            if password == PASSWORD and secret == GATEWAY_SECRET:
                async with asyncio.timeout(20):
                    await world.line.registered.wait()
            yield world
    finally:
        await world.end_pbx()
        await world._janus.aclose()
