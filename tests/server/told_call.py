"""A server whose calls say what the test wants: real connections and a real session of the protocol, without engines."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.fakes import MakeService, Switchboard, WaitingCall
from tests.loopback import on_loopback
from voiceagent.conversation.actions import ReplyStarted, ReplyText
from voiceagent.media.leg import Leg, Sideband
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.realtime.session import RealtimeSession
from voiceagent.server.calls.calls import CallHandle
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.realtime_socket import SocketLimits
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings
from voiceagent.task_owner import running

CLAUSE = "and then " * 2000


class ToldCall(WaitingCall):
    """A call whose agent says what the test wants. Implements `JoinableCall` and `ResumableCall`."""

    def __init__(self, leg: Leg, call_id: str, session: dict[str, Any]) -> None:
        super().__init__(leg, call_id, session)
        self.events = RealtimeSession(call_id)
        self.sidebands: list[Sideband] = []
        self.text = ""
        self.lost = asyncio.Event()
        self.left = asyncio.Event()
        """Set once a sideband has gone."""
        self._clauses = 0
        self.is_over = False
        for event in self.events.start():
            leg.send_event(event)
        self._send(self.events.on_notice(ReplyStarted(1, 1), 0.0))

    async def run(self) -> str:
        await self.leg.wait_connected()
        async with running(self._heard(), "leg"):
            return await self.end

    async def _heard(self) -> None:
        await _drain(self.leg.frames())
        self.hang_up(self.leg.end_reason)

    def tell_end(self) -> None:
        """Tell the client that the call has ended, and go on freeing it."""
        self._send(self.events.on_end("agent_ended", 0.0))
        self.is_over = True

    def say(self) -> None:
        """Say one clause more."""
        text = f"{self._clauses} {CLAUSE}"
        self._send(self.events.on_notice(ReplyText(1, self._clauses, text), 0.0))
        self.text = " ".join((self.text, text)) if self.text else text
        self._clauses += 1

    def _send(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            self.leg.send_event(event)
            for sideband in self.sidebands:
                sideband.send_event(event)

    async def join(self, sideband: Sideband) -> None:
        self.sidebands.append(sideband)
        for event in self.events.joined():
            sideband.send_event(event)
        try:
            async with running(_drain(sideband.client_events()), "sideband") as listening:
                await asyncio.wait((listening, self.end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.sidebands.remove(sideband)
            self.left.set()

    def offer_resumption(self, token: str, after: str = "") -> None:
        self.leg.send_event(self.events.resumable(token, 60_000.0))

    def connection_lost(self, alive_ms: float) -> None:
        self.events.lost()
        self.lost.set()

    def draining(self, timeout_s: float) -> None: ...

    def caller_returns(self) -> None: ...

    async def hand_over(self) -> object | None:
        return None

    def leave(self, reason: str = "") -> None: ...

    def connection_replaced(self) -> None:
        self.leg.send_event(self.events.replaced())

    def resumed(self, token: str, after: str) -> None:
        for event in self.events.resumed(after, token, 60_000.0):
            self.leg.send_event(event)


async def _drain(things: AsyncIterator[object]) -> None:
    async for _ in things:
        pass


class Board(Switchboard):
    """A switchboard of such calls, over real WebRTC."""

    def __init__(self, leg_options: dict[str, Any]) -> None:
        super().__init__()
        self._leg_options = leg_options
        self.told: list[ToldCall] = []

    async def answer(self, offer: str) -> tuple[Leg, str]:
        return await WebRtcLeg.answer(offer, **self._leg_options)

    def start_call(self, leg: Leg, call_id: str, session: dict[str, Any]) -> CallHandle:
        self.told.append(ToldCall(leg, call_id, session))
        return self.told[-1]


class Served:
    """The server, and its only call."""

    def __init__(self, url: str, board: Board, metrics: Metrics) -> None:
        self.url, self.board, self.metrics = url, board, metrics

    @property
    def call(self) -> ToldCall:
        return self.board.told[0]

    async def say_until(self, condition: Callable[[], object]) -> None:
        """Say so much that somebody who reads nothing cannot have it in any buffer on the way."""
        for _ in range(1000):
            if condition():
                return
            self.call.say()
            await asyncio.sleep(0)
        raise AssertionError("nobody minds")


@asynccontextmanager
async def serving(
    make_service: MakeService, limits: SocketLimits, *, admission: AdmissionSettings | None = None, **leg_options: Any
) -> AsyncIterator[Served]:
    """The server, with these limits of clients over a WebSocket, and options of WebRTC legs."""
    board = Board(leg_options)
    service = make_service(answer=board.answer, load=board.load, sockets=limits, admission=admission)
    app = make_app(service)
    async with on_loopback(app) as url:
        await app[READINESS].wait()
        yield Served(url, board, service.metrics)


def small_buffer(address: Any) -> socket.socket:
    """A socket that takes little before its reader does."""
    made = socket.socket(address[0], socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    return made


@asynccontextmanager
async def connected(
    served: Served, query: str, token: str = "any", **options: Any
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    connector = aiohttp.TCPConnector(socket_factory=small_buffer)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.ws_connect(
            f"{served.url}/v1/realtime?{query}", headers={"Authorization": f"Bearer {token}"}, max_msg_size=0, **options
        ) as client,
    ):
        yield client


async def read(client: aiohttp.ClientWebSocketResponse, last: str = "") -> list[dict[str, Any]]:
    """The events up to the last one, or to the end of the connection."""
    events: list[dict[str, Any]] = []
    async for message in client:
        events.append(json.loads(message.data))
        if events[-1]["type"] == last:
            break
    return events
