"""A server whose telephone calls echo: what is tested is the way in and out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer
from numpy.typing import NDArray

from tests.fakes import MakeService, Words
from tests.telephone.logged_lines import Lines
from tests.telephone.peers import PUBLIC_URL, SECRETS, environment
from voiceagent.audio.resample import StreamResampler, resample
from voiceagent.engines import load_stt
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Position
from voiceagent.models.registry import profile
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.settings.telephone import TelephonySettings
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.vendors import STREAM_LIMITS, StreamLimits, Telephone

PROGRAM_LOGS = ("janus.log", "baresip.log")
LAST_LINES = 30


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what Janus and the phones logged last."""
    report = yield
    folder = item.funcargs.get("tmp_path") if isinstance(item, pytest.Function) else None
    if report.failed and isinstance(folder, Path):
        for log in sorted(folder.rglob("*.log")):
            if log.name in PROGRAM_LOGS:
                last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
                report.sections.append((f"the end of {log.relative_to(folder)}", "\n".join(last)))
    return report


class EchoCall:
    """Says back what it hears, as reply 1, or what it is told to."""

    def __init__(self, leg: StreamLeg, echoes: bool) -> None:
        self.leg = leg
        self.echoes = echoes
        self.heard: list[np.ndarray] = []
        self.cleaned: list[np.ndarray] = []
        """The same for the voice detector, where the leg cleans it."""
        self.typed: list[str] = []
        self.sent: list[Position] = []
        self.ended = ""
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        leg.playout.on_sent = self.sent.append

    async def run(self) -> str:
        typing = asyncio.create_task(self._type())
        try:
            up = StreamResampler(16_000, 24_000, quality="QQ")
            async for frame in self.leg.frames():
                self.heard.append(frame.pcm)
                if frame.cleaned is not None:
                    self.cleaned.append(frame.cleaned)
                if self.echoes:
                    self.leg.playout.push(1, 0, up.process(frame.pcm), complete=False)
                if self._end.done():
                    break
        finally:
            typing.cancel()
            await self.leg.close()
        self.ended = self._end.result() if self._end.done() else self.leg.end_reason
        return self.ended

    async def _type(self) -> None:
        async for text in self.leg.client_events():
            self.typed.append(text)

    def say(self, pcm: np.ndarray, reply_id: int = 2, clause: int = 0) -> None:
        self.leg.playout.push(reply_id, clause, pcm, complete=True)

    def hang_up(self, reason: str) -> None:
        if not self._end.done():
            self._end.set_result(reason)


class EchoServer:
    """Takes calls of all vendors."""

    def __init__(self, client: TestClient[Any, Any], session: aiohttp.ClientSession, calls: list[EchoCall], app: Any) -> None:
        self.session = session
        self.calls = calls
        self.app = app
        self.echoes = True
        self.unanswered: list[tuple[CallFacts, str]] = []
        self.begun = asyncio.Event()
        self.url = str(client.make_url("")).rstrip("/")


@asynccontextmanager
async def echoing(make_service: MakeService, telephone: Telephone) -> AsyncIterator[EchoServer]:
    """A server that takes the calls of these lines, and echoes."""
    calls: list[EchoCall] = []
    servers: list[EchoServer] = []

    def start_call(leg: Leg, call_id: str, session: dict[str, Any]) -> CallHandle:
        assert isinstance(leg, StreamLeg)
        calls.append(EchoCall(leg, servers[0].echoes))
        servers[0].begun.set()
        return calls[-1]

    @asynccontextmanager
    async def load() -> AsyncIterator[StartCall]:
        yield start_call

    def unanswered(facts: CallFacts, reason: str) -> None:
        servers[0].unanswered.append((facts, reason))

    app = make_app(make_service(load=load, telephone=telephone, unanswered=unanswered))
    async with TestClient(TestServer(app)) as client, aiohttp.ClientSession() as session:
        await app[READINESS].wait()
        servers.append(EchoServer(client, session, calls, app))
        yield servers[0]


@pytest.fixture
def limits() -> StreamLimits:
    """The limits of the echoing server. A test that parametrizes this name sets its own."""
    return STREAM_LIMITS


@pytest.fixture
async def echo(make_service: MakeService, limits: StreamLimits) -> AsyncIterator[EchoServer]:
    settings = TelephonySettings(tuple(SECRETS), PUBLIC_URL, audiosocket="127.0.0.1:0")
    telephone = Telephone.from_settings(settings, environment())
    async with echoing(make_service, replace(telephone, limits=limits)) as server:
        yield server


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What the server logs from INFO on."""
    handler = Lines()
    logger = logging.getLogger("voiceagent")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


@pytest.fixture
async def words() -> Words:
    """Reads audio back with the bundled recogniser."""

    async def read(pcm: NDArray[np.int16], rate_hz: int) -> str:
        engine = load_stt(profile("embedded").stt)
        try:
            heard = (resample(pcm, rate_hz, 16_000) / np.float32(32768)).astype(np.float32)
            return (await engine.transcribe(heard, final=True)).text
        finally:
            await engine.close()

    return read
