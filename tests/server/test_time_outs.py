"""Clients that never come up, and clients that are gone without a word: each transport notices them in its time."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.fakes import MakeService
from tests.media.test_connections import offer_of
from tests.server.told_call import connected, read, serving
from voiceagent.client.caller import Caller
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.client.signalling import answer_to
from voiceagent.conversation.rules import Rules
from voiceagent.media.outgoing_events import READER
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.server.calls.calls import ANSWER_TIMEOUT_S
from voiceagent.server.http.app import make_app
from voiceagent.server.http.connection import Patience
from voiceagent.server.http.connections import Connections
from voiceagent.server.http.listening import Listening
from voiceagent.server.http.realtime_socket import SOCKET_LIMITS, SocketLimits

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 15.0
PINGED = SocketLimits(ping_s=0.2)


def test_the_page_of_the_protocol_names_the_times_that_hold() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in page.splitlines() if row.startswith("| ")}
    legs, patience, limits = inspect.signature(WebRtcLeg.answer).parameters, Patience(), Rules().limits
    ping_s = SOCKET_LIMITS.ping_s
    for name, told in (
        ("set-up: the request does not come whole", f"{patience.head_s:g} s for its head, {patience.body_s:g} s for its body"),
        ("set-up: no answer to an offer", f"{ANSWER_TIMEOUT_S:g} s"),
        ("set-up: answered, and never connected", f"{legs['connect_timeout_s'].default:g} s"),
        ("idle: nobody speaks", f"{limits.silence_timeout_ms / 1000:g} s"),
        ("idle: the longest call", f"{limits.max_call_ms / 1000:g} s"),
        ("lost: nothing comes", f"{legs['silence_timeout_s'].default:g} s"),
        ("lost: no answer to a ping", f"{ping_s:g} s in which"),
        ("lost: no answer to a ping", f"{ping_s / 2:g} s after the ping: {ping_s * 1.5:g} s"),
        ("lost: events are not read", f"{READER.timeout_s:g} s"),
        ("lost: not back", f"{limits.resume_timeout_ms / 1000:g} s"),
    ):
        assert f" {told}" in rows[name], name


async def test_set_up_of_a_peer_that_never_connects(make_service: MakeService) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    async with asyncio.timeout(PATIENCE_S), serving(make_service, SOCKET_LIMITS, connect_timeout_s=0.2) as served:
        await answer_to(served.url, None, sdp)
        assert await served.call.end == "not_connected"
        assert not served.call.lost.is_set(), "it is not waited for"


@pytest.mark.parametrize("query", ["", "?call_id=rtc_1"], ids=["a WebSocket", "a sideband"])
async def test_set_up_of_a_websocket_whose_request_never_ends(make_service: MakeService, query: str) -> None:
    service = make_service()
    runner = web.AppRunner(make_app(service))
    await runner.setup()
    assert runner.server is not None
    connections = Connections(service.metrics, patience=Patience(head_s=0.2))
    listening = Listening(runner.server, connections, service.metrics)
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", await listening.open("127.0.0.1", 0))
            writer.write(f"GET /v1/realtime{query} HTTP/1.1\r\nUpgrade: webso".encode())
            told = await reader.read()
            writer.close()
    finally:
        await listening.close()
        await runner.cleanup()
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"request_timeout" in told


async def test_lost_is_a_client_over_a_websocket_that_answers_no_ping_and_it_may_come_back(make_service: MakeService) -> None:
    async with asyncio.timeout(PATIENCE_S), serving(make_service, PINGED) as served:
        async with connected(served, "voiceagent_events=true", autoping=False) as client:
            events = await read(client, "voiceagent.resume")
            await served.call.lost.wait()
            assert (await client.receive()).type is aiohttp.WSMsgType.PING
        last = events[-1]
        async with connected(served, f"voiceagent_events=true&after={last['event_id']}", last["token"]) as client:
            await read(client, "voiceagent.resume")
            assert served.metrics.calls_resumed == {"websocket": 1}


async def test_lost_is_a_client_that_cannot_come_back_and_its_call_is_over(make_service: MakeService) -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(make_service, PINGED) as served,
        connected(served, "", autoping=False) as client,
    ):
        await read(client, "response.created")
        assert await served.call.end == "lost"


async def test_lost_is_a_sideband_that_answers_no_ping_and_the_call_goes_on(make_service: MakeService) -> None:
    async with asyncio.timeout(PATIENCE_S), serving(make_service, PINGED) as served, connected(served, "") as client:
        await read(client, "response.created")
        reading = asyncio.create_task(read(client))  # it answers pings
        async with connected(served, f"call_id={served.call.call_id}", autoping=False) as aside:
            await read(aside, "session.created")
            await served.call.left.wait()
        assert not served.call.end.done()
        served.call.hang_up("hangup")
        await reading


async def test_lost_is_a_peer_from_which_nothing_comes_any_more(make_service: MakeService) -> None:
    relay = ImpairedRelay(Impairment())
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(make_service, SOCKET_LIMITS, silence_timeout_s=1.0) as served,
        Caller(served.url, relay=relay) as caller,
    ):
        await anext(caller.events())
        await relay.close()
        await served.call.lost.wait()
        assert not served.call.end.done(), "it is waited for"
