"""Clients that do not read their events: each is closed with a reason and counted, and the one whose call it is takes it up again
and has missed nothing. Real connections and a real session of the protocol; only what the agent says is the test's."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.fakes import MakeService, Switchboard, WaitingCall
from tests.loopback import on_loopback
from voiceagent.call.written_leg import AnswerEnd, AnswerText, WrittenLeg
from voiceagent.client.caller import Caller
from voiceagent.conversation.actions import ReplyStarted, ReplyText
from voiceagent.media.leg import Leg, Sideband
from voiceagent.media.outgoing_events import ReaderLimits
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.realtime.session import RealtimeSession
from voiceagent.server.calls.calls import CallHandle
from voiceagent.server.http import event_stream
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.chat import PATH, ChatPart
from voiceagent.server.http.realtime_socket import SocketLimits
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.task_owner import running

READER = ReaderLimits(size_bytes=50_000)
CLAUSE = "and then " * 2000
DELTA = "response.output_audio_transcript.delta"
PATIENCE_S = 15.0


class ToldCall(WaitingCall):
    """A call whose agent says what the test wants. Implements `JoinableCall` and `ResumableCall`."""

    def __init__(self, leg: Leg, call_id: str, session: dict[str, Any]) -> None:
        super().__init__(leg, call_id, session)
        self.events = RealtimeSession(call_id)
        self.sidebands: list[Sideband] = []
        self.text = ""
        self.lost = asyncio.Event()
        self._clauses = 0
        for event in self.events.start():
            leg.send_event(event)
        self._send(self.events.on_notice(ReplyStarted(1, 1), 0.0))

    async def run(self) -> str:
        await self.leg.wait_connected()
        async with running(self._heard(), "leg"):
            return await self.end

    async def _heard(self) -> None:
        async for _ in self.leg.frames():
            pass
        self.hang_up(self.leg.end_reason)

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
        async for _ in sideband.client_events():
            pass
        self.sidebands.remove(sideband)

    def offer_resumption(self, token: str) -> None:
        self.leg.send_event(self.events.resumable(token, 60_000.0))

    def draining(self, timeout_s: float) -> None: ...

    def connection_lost(self, alive_ms: float) -> None:
        self.events.lost()
        self.lost.set()

    def connection_replaced(self) -> None: ...

    def resumed(self, token: str, after: str) -> None:
        for event in self.events.resumed(after, token, 60_000.0):
            self.leg.send_event(event)


class Board(Switchboard):
    """A switchboard of such calls, over real WebRTC."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[ToldCall] = []

    async def answer(self, offer: str) -> tuple[Leg, str]:
        return await WebRtcLeg.answer(offer, reader=READER)

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


@pytest.fixture
def switchboard() -> Switchboard:
    return Switchboard()


@pytest.fixture
async def served(make_service: MakeService) -> AsyncIterator[Served]:
    board = Board()
    service = make_service(answer=board.answer, load=board.load, sockets=SocketLimits(reader=READER))
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
async def connected(served: Served, query: str, token: str = "any") -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    connector = aiohttp.TCPConnector(socket_factory=small_buffer)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.ws_connect(
            f"{served.url}/v1/realtime?{query}", headers={"Authorization": f"Bearer {token}"}, max_msg_size=0
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


def said_in(events: list[dict[str, Any]]) -> str:
    """The words of all deltas."""
    return "".join(event["delta"] for event in events if event["type"] == DELTA)


def check_nothing_missed(events: list[dict[str, Any]], said: str) -> None:
    assert said_in(events) == said
    ids = [event["event_id"] for event in events if event["type"] != "error"]
    assert len(set(ids)) == len(ids), "an event came twice"


async def test_a_client_over_a_websocket_is_closed_and_takes_its_call_up_again(served: Served) -> None:
    async with asyncio.timeout(PATIENCE_S), connected(served, "voiceagent_events=true") as client:
        events = await read(client, "response.created")
        await served.say_until(served.board.told[0].lost.is_set)
        assert served.metrics.slow_readers == {"websocket": 1}
        events += await read(client)
        assert client.close_code == 1008
    token = next(event["token"] for event in events if event["type"] == "voiceagent.resume")
    async with (
        asyncio.timeout(PATIENCE_S),
        connected(served, f"voiceagent_events=true&after={events[-1]['event_id']}", token) as client,
    ):
        events += await read(client, "voiceagent.resume")
        served.call.say()
        while len(said_in(events)) < len(served.call.text):
            events += await read(client, DELTA)
    check_nothing_missed(events, served.call.text)


async def test_a_client_over_webrtc_is_told_why_and_takes_its_call_up_again(served: Served) -> None:
    async with asyncio.timeout(PATIENCE_S), Caller(served.url) as caller:
        events: list[dict[str, Any]] = []
        reading = caller.events()
        while not events or events[-1]["type"] != "response.created":
            events.append((await anext(reading)).data)
        await served.say_until(served.call.lost.is_set)
        async for event in reading:
            events.append(event.data)
            if caller.resumed and event.type == "voiceagent.resume":
                break
        served.call.say()
        while len(said_in(events)) < len(served.call.text):
            events.append((await anext(reading)).data)
    assert [event["error"]["code"] for event in events if event["type"] == "error"] == ["too_slow"]
    assert served.metrics.slow_readers == {"webrtc": 1}
    check_nothing_missed(events, served.call.text)


async def test_a_sideband_is_closed_and_the_call_goes_on(served: Served) -> None:
    async with asyncio.timeout(PATIENCE_S), connected(served, "") as client:
        events = await read(client, "response.created")
        async with connected(served, f"call_id={served.call.call_id}") as aside:
            await read(aside, "session.created")
            while served.metrics.slow_readers != {"sideband": 1}:
                served.call.say()
                events += await read(client, DELTA)
            await read(aside)
            assert aside.close_code == 1008
        check_nothing_missed(events, served.call.text)


async def test_a_client_that_cannot_come_back_ends_its_call_with_the_reason(served: Served) -> None:
    async with asyncio.timeout(PATIENCE_S), connected(served, "") as client:
        await read(client, "response.created")
        await served.say_until(lambda: served.metrics.calls_ended)
        assert served.metrics.calls_ended == {"too_slow": 1}


async def test_a_reader_of_a_written_answer_is_closed_and_gets_the_rest_later(
    make_service: MakeService, switchboard: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "READ_TIMEOUT_S", 0.2)
    service = make_service(parts=(ChatPart("Demo"),))
    app = make_app(service)
    body = {"model": "Demo", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    said = ""
    async with asyncio.timeout(PATIENCE_S), on_loopback(app) as url:
        await app[READINESS].wait()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=small_buffer)) as session:
            async with session.post(f"{url}{PATH}", json=body) as response:
                leg = switchboard.calls[-1].leg
                assert isinstance(leg, WrittenLeg)
                while not service.metrics.slow_readers:
                    if len(said) < 10_000_000:
                        said += "x" * 10_000
                        leg.tell(AnswerText("x" * 10_000))
                    await asyncio.sleep(0)
                assert service.metrics.slow_readers == {"chat": 1}
                response.close()
            leg.tell(AnswerEnd("stop"))
            seen = {"Last-Event-ID": f"chatcmpl-{switchboard.calls[-1].call_id.removeprefix('rtc_')}:0"}
            async with session.post(f"{url}{PATH}", json=body, headers=seen) as response:
                lines = (await response.text()).split("\n\n")
            switchboard.calls[-1].hang_up("answered")
    events = [json.loads(line.split("data: ")[1]) for line in lines if "data: {" in line]
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == said
