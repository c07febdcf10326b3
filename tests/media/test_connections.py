"""How a WebRTC leg's connection comes up, or is refused, how it ends, and what it leaves behind: real aiortc on both ends, in one
process."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import aioice.ice
import aiortc
import psutil
import pytest
from aiohttp import web
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from tests.aiortc_peer import allow_loopback, opus_only
from tests.loopback import on_loopback
from tests.media.conftest import MediaServer, echo, listen, tone
from voiceagent.client.caller import Caller
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import MediaError
from voiceagent.media.ticker import Ticker
from voiceagent.media.webrtc import private_names
from voiceagent.media.webrtc.datagram_gate import DatagramGate
from voiceagent.media.webrtc.ice_connection import GatedConnection
from voiceagent.media.webrtc.ports import ANY_PORT
from voiceagent.media.webrtc.session_description import read_offer
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg


async def offer_of(*, audio: bool = True, data: bool = True, video_line: bool = False) -> tuple[RTCPeerConnection, str]:
    allow_loopback()
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    if audio:
        peer.addTransceiver("audio").setCodecPreferences(opus_only())
    if data:
        peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    return peer, peer.localDescription.sdp


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda sdp: "", "starts with ''; expected a session description"),
        (lambda sdp: "hello", "starts with 'hello'"),
        (lambda sdp: "v=0\r\nm=audio", "malformed"),
        (lambda sdp: "v=0\r\nm=audio x y z\r\n", "malformed"),
        (lambda sdp: sdp.replace("m=audio 9", "m=audio 0").replace("m=audio", "m=audio"), None),
        (lambda sdp: sdp.replace("opus/48000", "speex/16000"), "no Opus"),
        (lambda sdp: sdp.replace("a=ice-ufrag", "a=x-ufrag"), "a=ice-ufrag"),
        (lambda sdp: sdp.replace("a=fingerprint", "a=x-fingerprint"), "a=fingerprint"),
        (lambda sdp: "v=0\r\n" + "a=x\r\n" * 30_000, "characters long"),
        (lambda sdp: sdp[: len(sdp) // 2], None),
        (lambda sdp: sdp.replace("a=mid:0", "a=mid:7"), None),
    ],
)
async def test_a_bad_offer_is_one_clear_line_or_answered(change: Callable[[str], str], message: str | None) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    said = ""
    try:
        leg, _ = await WebRtcLeg.answer(change(sdp))
        await leg.close()
    except MediaError as error:
        said = str(error)
    assert (message or "") in said
    assert "\n" not in said


async def test_an_offer_without_audio_is_refused() -> None:
    peer, sdp = await offer_of(audio=False)
    await peer.close()
    with pytest.raises(MediaError, match=r"no audio \(it offers application\)"):
        await WebRtcLeg.answer(sdp)


async def test_the_answer_asks_for_error_correction_and_nothing_but_opus() -> None:
    peer, sdp = await offer_of()
    leg, answer = await WebRtcLeg.answer(sdp)
    assert "useinbandfec=1" in answer
    assert "opus/48000/2" in answer
    assert "PCMU" not in answer
    await leg.close()
    await peer.close()


async def test_candidates_that_cannot_be_used_are_left_out() -> None:
    peer, sdp = await offer_of(data=False)
    await peer.close()
    line = "a=candidate:1 1 {} 2130706431 {} {} typ host\r\n".format
    lines = [line("udp", "8.8.8.1", 65_535), line("udp", "8.8.8.2", 65_536), line("udp", "8.8.8.3", 700_000)]
    lines += [line("tcp", "8.8.8.4", 9), line("udp", "8.8.8.5", 0), line("udp", "b5a3.local", 9)]
    offer = read_offer(sdp + "".join(lines)).text
    assert [number for number in range(1, 6) if f"8.8.8.{number} " in offer] == [1]
    assert ".local" not in offer


async def test_an_offer_without_candidates_connects(media_server: MediaServer) -> None:
    """As SDKs send it: no candidates, none trickled; the server learns the address from the packets."""
    peer, sdp = await offer_of()
    bare = "".join(line for line in sdp.splitlines(keepends=True) if not line.startswith(("a=candidate", "a=end-of")))
    leg, answer = await WebRtcLeg.answer(bare)
    await peer.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
    async with asyncio.timeout(10):
        assert await leg.wait_connected()
    await peer.close()
    await leg.close()


@pytest.mark.parametrize("direction", ["", "a=recvonly\r\n"])
async def test_an_offer_that_leaves_the_direction_open_means_both_or_the_sessions(direction: str) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    leg, answer = await WebRtcLeg.answer(sdp.replace("a=sendrecv\r\n", "").replace("m=audio", f"{direction}m=audio", 1))
    await leg.close()
    assert ("a=sendonly" if direction else "a=sendrecv") in answer


async def test_a_machine_with_only_loopback_connects_to_itself(
    media_server: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: [])
    media_server.behaviour = echo
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(0.5))
        await caller.wait_heard(0.0)
        assert caller._peer is not None
        assert "127.0.0.1" in caller._peer.local_description


async def test_other_machines_gather_no_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.3"])
    connection = GatedConnection(DatagramGate(), ANY_PORT)
    await connection.gather_candidates()
    hosts = [candidate.host for candidate in connection.local_candidates]
    await connection.close()
    assert hosts == ["127.0.0.3"]


def test_what_aiortc_and_aioice_have_moved_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    private_names.check()
    monkeypatch.setattr(aiortc, "__version__", "1.17.0")
    monkeypatch.delattr(aioice.ice.Connection, "check_complete")
    monkeypatch.setattr(aiortc.RTCSctpTransport, "_handle_data", lambda self, packet: None)
    monkeypatch.setattr(aiortc.RTCIceGatherer, "__init__", lambda self: None)
    told = r"its version is 1.17.0; RTCIceGatherer._connection moved; Connection.check_complete moved; .*_handle_data moved; exp"
    with pytest.raises(MediaError, match=told):
        private_names.check()


async def test_the_leg_ends_when_the_caller_hangs_up(media_server: MediaServer) -> None:
    async with asyncio.timeout(20):
        async with Caller(media_server.url):
            pass
        await media_server.finish()
    assert media_server.legs[0].end_reason == "hangup"


async def test_the_leg_ends_when_the_event_channel_is_closed(media_server: MediaServer) -> None:
    async def greet(leg: WebRtcLeg) -> None:
        leg.send_event({"type": "hello"})
        await listen(leg)

    media_server.behaviour = greet
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        await anext(caller.events())
        assert caller._events._channel is not None
        caller._events._channel.close()
        await media_server.finish()
        assert media_server.legs[0].end_reason == "hangup"


async def test_the_leg_is_lost_when_nothing_comes_any_more(media_server: MediaServer) -> None:
    media_server.options = {"silence_timeout_s": 1.0}
    relay = ImpairedRelay(Impairment())
    async with asyncio.timeout(20), Caller(media_server.url, relay=relay) as caller:
        caller.say(tone(0.2))
        await caller.wait_said()
        await relay.close()
        await media_server.finish()
        assert media_server.legs[0].end_reason == "lost"


async def test_an_offer_that_no_one_follows_up_is_lost() -> None:
    peer, sdp = await offer_of()
    await peer.close()
    leg, _ = await WebRtcLeg.answer(sdp, connect_timeout_s=0.6)
    async with asyncio.timeout(10):
        assert not await leg.wait_connected()
        assert [frame async for frame in leg.frames()] == []
    assert leg.end_reason == "lost"
    await leg.close()


async def test_calls_keep_no_threads_and_share_one_timer(media_server: MediaServer) -> None:
    async with asyncio.timeout(20):
        async with Caller(media_server.url) as one, Caller(media_server.url) as other:
            for caller in (one, other):
                caller.say(tone(0.3))
                await caller.wait_said()
            assert Ticker.of_running_loop().seats == 4
            assert not [thread.name for thread in threading.enumerate() if "decoder" in thread.name]
        await media_server.finish()
    assert Ticker.of_running_loop().seats == 0


async def test_twenty_calls_leave_nothing_behind(media_server: MediaServer) -> None:
    async def cycle() -> None:
        async with Caller(media_server.url) as caller:
            caller.say(tone(0.05))
            await caller.wait_said()
        await media_server.finish()
        media_server.legs.clear()

    process = psutil.Process()
    async with asyncio.timeout(50):
        await cycle()
        before = await settled(process)
        for _ in range(20):
            await cycle()
        after = await settled(process)
    assert after == before


async def test_events_that_wait_when_the_connection_closes_are_lost_without_an_error(media_server: MediaServer) -> None:
    async def chatter(leg: WebRtcLeg) -> None:
        async for _ in leg.client_events():
            sctp = leg._peer.sctp
            assert sctp is not None
            await sctp.transport.stop()  # as when the connection breaks: the data channel does not know yet
            leg.send_event({"text": "hello"})
            await asyncio.sleep(0)
            await leg.close()

    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    media_server.behaviour = chatter
    async with asyncio.timeout(20):
        async with Caller(media_server.url) as caller:
            caller.send_event({"type": "hello"})
            await caller.wait_ended()
        await media_server.finish()
    gc.collect()
    assert errors == []


async def test_an_event_that_is_sent_again_while_the_connection_closes_is_no_error(media_server: MediaServer) -> None:
    """What the network lost is sent again by a timer, which may run out just then."""
    sent: list[str] = []

    async def close(leg: WebRtcLeg) -> None:
        async for _ in leg.client_events():
            sctp = leg._peer.sctp
            assert sctp is not None
            dtls = sctp.transport
            assert dtls._ssl is not None
            dtls._ssl.shutdown()
            sent.append(dtls.state)
            await dtls._send_data(b"too late")
            sent.append(dtls.state)
            await leg.close()

    media_server.behaviour = close
    async with asyncio.timeout(20):
        async with Caller(media_server.url) as caller:
            caller.send_event({"type": "hello"})
            await caller.wait_ended()
        await media_server.finish()
    assert sent == ["connected", "connected"]


async def settled(process: psutil.Process) -> tuple[int, int, int, int]:
    """(asyncio tasks, open sockets, file descriptors, threads), once what is ending has ended."""
    counts = (-1, -1, -1, -1)
    for _ in range(50):
        gc.collect()
        await asyncio.sleep(0.02)
        now = (len(asyncio.all_tasks()), len(process.net_connections()), len(os.listdir("/proc/self/fd")), process.num_threads())
        if now == counts:
            break
        counts = now
    return counts


async def test_the_caller_says_clearly_what_is_wrong() -> None:
    with pytest.raises(MediaError, match=r"no server there .*voiceagent serve"):
        await Caller("http://127.0.0.1:9").connect()
    with pytest.raises(MediaError, match="is not a URL"):
        await Caller("nonsense").connect()


async def test_the_caller_repeats_what_the_server_refused() -> None:
    async def refuse(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer secret"
        return web.json_response({"error": {"message": "the server is full; try again later"}}, status=503)

    app = web.Application()
    app.router.add_post("/v1/realtime/calls", refuse)
    async with on_loopback(app) as url:
        with pytest.raises(MediaError, match=r"refused the call \(503\): the server is full"):
            await Caller(url, "secret").connect()
