"""Clients that do not read their events: each is closed with a reason and counted, and the one whose call it is takes it up again
and has missed nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.attacks.test_vanished_callers import Filter
from tests.fakes import MakeService, Switchboard
from tests.loopback import on_loopback
from tests.server.told_call import Served, connected, read, serving, small_buffer
from voiceagent.call.written_leg import AnswerEnd, AnswerText, WrittenLeg
from voiceagent.client.caller import Caller
from voiceagent.media.outgoing_events import ReaderLimits
from voiceagent.server.http import event_stream
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.chat import PATH, ChatPart
from voiceagent.server.http.realtime_socket import SOCKET_LIMITS, SocketLimits

READER = ReaderLimits(size_bytes=50_000)
DELTA = "response.output_audio_transcript.delta"
PATIENCE_S = 15.0


def is_dtls(first: int) -> bool:
    """True for the first byte of a packet in which events are (RFC 7983)."""
    return 20 <= first < 64


@pytest.fixture
async def served(make_service: MakeService) -> AsyncIterator[Served]:
    async with serving(make_service, SocketLimits(reader=READER), reader=READER) as server:
        yield server


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


async def test_a_peer_whose_audio_comes_through_and_whose_events_do_not_is_given_up(make_service: MakeService) -> None:
    relay = Filter()
    stuck = ReaderLimits(timeout_s=0.3)
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(make_service, SOCKET_LIMITS, reader=stuck) as served,
        Caller(served.url, relay=relay) as caller,
    ):
        await anext(caller.events())
        relay.passes = lambda first: not is_dtls(first)
        await served.say_until(lambda: len(served.call.text) > 200_000)
        await served.call.lost.wait()
        assert served.metrics.slow_readers == {"webrtc": 1}


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
    service = make_service(parts=(ChatPart(lambda: "Demo"),))
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
