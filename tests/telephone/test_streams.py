"""Telephone streams of every vendor, by peers written from their documents: audio both ways, keys, marks, clear, the end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from tests.speech import said
from tests.telephone.conftest import EchoServer
from tests.telephone.peers import CALLED, CALLER, SECRETS, Peer, ask, stream_path, webhook
from tests.telephone.sip_parts import until
from voiceagent.audio import voice_processing
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.media.audio_cleaner import AudioCleaning
from voiceagent.server.http.app import CALLS
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.vendors import StreamLimits

REPLY = "Your order left our warehouse on Monday morning, and the driver tried to deliver it twice in the afternoon."


def tone(hz: float, rate_hz: int, seconds: float) -> np.ndarray:
    return np.round(8_000 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def peak_hz(pcm: np.ndarray, rate_hz: int) -> float:
    return float(np.abs(np.fft.rfft(pcm * np.hanning(len(pcm)))).argmax()) * rate_hz / len(pcm)


def loud(pcm: np.ndarray) -> np.ndarray:
    """Without the silence around it."""
    audible = np.flatnonzero(np.abs(pcm.astype(int)) > 1000)
    return pcm[audible[0] : audible[-1] + 1] if len(audible) else pcm[:0]


@pytest.mark.parametrize("vendor", SECRETS)
async def test_a_tone_goes_to_the_agent_and_comes_back_whole(echo: EchoServer, vendor: str) -> None:
    async with Peer(echo.session, echo.url, vendor, {"customer": "42"}, shuffled=vendor == "telnyx") as peer:
        peer.say(np.pad(tone(440, peer.rate_hz, 1.0), (peer.rate_hz // 5, 0)))
        await peer.wait(lambda: len(loud(peer.heard_pcm())) >= 0.98 * peer.rate_hz)
        heard = loud(peer.heard_pcm())
    assert abs(peak_hz(heard, peer.rate_hz) - 440) < 3
    size = 2 * peer.rate_hz // 50 if peer.is_l16 else 160
    assert peer.chunk_sizes == {5 * size if vendor == "exotel" else size}
    (call,) = echo.calls
    assert call.leg.counters["packets_lost"] == call.leg.counters["packets_malformed"] == 0
    if vendor == "telnyx":
        assert call.leg.counters["packets_reordered"] > 10
    facts = call.leg.facts
    assert (facts.caller, facts.called) == (CALLER, CALLED)
    assert facts.vendors_id.startswith(f"c-{vendor}-")
    assert facts.parameters == {"customer": "42"}


async def test_what_the_operator_wrote_into_the_webhooks_address_comes_with_the_call(echo: EchoServer) -> None:
    async with Peer(echo.session, echo.url, "twilio", {"a": "1"}, query="shop=Bonn&a=2"):
        pass
    assert echo.calls[0].leg.facts.parameters == {"a": "2", "shop": "Bonn"}, "what was signed goes before what was not"


@pytest.mark.parametrize("vendor", SECRETS)
async def test_a_call_that_we_made_is_known_by_its_webhook(echo: EchoServer, vendor: str) -> None:
    for direction in ("inbound", "outbound-api"):
        async with Peer(echo.session, echo.url, vendor, direction=direction):
            pass
    tells = vendor != "vonage"
    assert [call.leg.facts.outbound for call in echo.calls] == [False, tells]


@pytest.mark.parametrize("vendor", SECRETS)
async def test_keys_are_one_message_that_asks_for_an_answer(echo: EchoServer, vendor: str) -> None:
    async with Peer(echo.session, echo.url, vendor) as peer:
        await peer.press("12*4#")
        await peer.press("7")
        await peer.wait(lambda: bool(echo.calls) and len(echo.calls[0].typed) == 6)
        typed = [json.loads(text) for text in echo.calls[0].typed]
    assert [event["type"] for event in typed] == ["output_audio_buffer.clear", "conversation.item.create", "response.create"] * 2
    assert [event["item"]["content"][0]["text"] for event in typed[1::3]] == ["12*4", "7"]


@pytest.mark.parametrize("vendor", SECRETS)
async def test_what_was_heard_is_what_the_vendor_says_that_it_played(echo: EchoServer, vendor: str) -> None:
    echo.echoes = False
    async with Peer(echo.session, echo.url, vendor) as peer:
        await peer.wait(lambda: bool(echo.calls))
        call = echo.calls[0]
        call.say(tone(440, 24_000, 0.7), 2, 0)
        call.say(tone(440, 24_000, 0.31), 2, 1)
        await peer.wait(lambda: (2, 1, 310.0) in call.sent)
        assert len(loud(peer.heard_pcm())) >= 0.99 * peer.rate_hz
        assert peer.marks_played
    assert [position for position in call.sent if position[1] == 0][-1] == (2, 0, 700.0)
    assert call.sent == sorted(call.sent)
    assert call.leg.counters["marks_stale"] == call.leg.counters["marks_missing"] == 0


@pytest.mark.parametrize("vendor", SECRETS)
async def test_a_cancelled_reply_is_cleared_and_stale_marks_tell_nothing(echo: EchoServer, vendor: str) -> None:
    echo.echoes = False
    async with Peer(echo.session, echo.url, vendor) as peer:
        await peer.wait(lambda: bool(echo.calls))
        call = echo.calls[0]
        call.say(tone(440, 24_000, 5.0))
        await peer.wait(lambda: len(peer.heard_pcm()) >= peer.rate_hz // 2)
        _, clause, known_ms = call.leg.playout.cancel(2)
        await peer.wait(lambda: bool(peer.clears))
        played_ms = len(peer.heard_pcm()) * 1000 / peer.rate_hz
        confirmed = list(call.sent)
        call.say(tone(880, 24_000, 0.4), 3)
        await peer.wait(lambda: (3, 0, 400.0) in call.sent)
        rest = peer.heard_pcm(peer.clears[0])
    assert clause == 0
    assert played_ms - 350 <= known_ms <= played_ms
    assert [position for position in call.sent if position[0] == 2] == confirmed
    assert abs(peak_hz(loud(rest), peer.rate_hz) - 880) < 10, "nothing of the first is left"
    assert call.leg.counters["marks_stale"] == (len(peer.marks_cleared) if vendor in ("twilio", "signalwire", "telnyx") else 0)


async def test_a_paused_reply_stops_at_once_and_goes_on_where_it_was_heard(echo: EchoServer) -> None:
    echo.echoes = False
    async with Peer(echo.session, echo.url, "twilio") as peer:
        await peer.wait(lambda: bool(echo.calls))
        call = echo.calls[0]
        call.say(np.repeat((100 * 1.3 ** np.arange(20)).astype(np.int16), 24_000 // 20))
        await peer.wait(lambda: len(peer.heard_pcm()) >= 0.4 * peer.rate_hz)
        call.leg.playout.pause(2)
        await peer.wait(lambda: bool(peer.clears))
        before = peer.heard_pcm()
        await peer.wait(lambda: peer.is_quiet(0.1))
        assert len(peer.heard_pcm()) == len(before), "nothing is played after clear"
        call.leg.playout.resume(2)
        await peer.wait(lambda: (2, 0, 1000.0) in call.sent)
        after = peer.heard_pcm(peer.clears[0])
    levels = np.concatenate((before, after)).clip(1)
    assert set(np.round(np.log(levels / 100) / np.log(1.3)).tolist()) >= set(range(20)), "nothing is lost"
    assert len(after) / 8 <= 1000 - len(before) / 8 + 200, "no more than 200 ms is heard twice"


async def test_a_vendor_that_sends_no_marks_is_believed_by_the_clock(echo: EchoServer) -> None:
    echo.echoes = False
    async with Peer(echo.session, echo.url, "twilio", acknowledges=False) as peer:
        await peer.wait(lambda: bool(echo.calls))
        call = echo.calls[0]
        call.say(tone(440, 24_000, 0.5))
        await peer.wait(lambda: (2, 0, 500.0) in call.sent)
    assert call.leg.counters["marks_missing"] >= 2


@pytest.mark.parametrize("vendor", ["twilio", "exotel"])
async def test_the_echo_of_what_the_vendor_plays_is_cancelled(echo: EchoServer, vendor: str) -> None:
    voice_processing.load()  # as the server does when it starts: it takes a quarter of a second
    reply = np.asarray(resample(said(REPLY), 16_000, 24_000))  # now: it takes a while, and a call would stand still
    echo.echoes = False
    async with Peer(echo.session, echo.url, vendor) as peer:
        await peer.wait(lambda: bool(echo.calls))
        call = echo.calls[0]
        call.leg.cleaner.use(AudioCleaning(echo_cancellation=True))
        call.say(reply)
        repeated = 0
        while repeated < 3 * peer.rate_hz:
            await peer.wait(lambda: len(peer.heard_pcm()) > repeated)  # noqa: B023 - awaited at once
            played = peer.heard_pcm()[repeated:]
            peer.say(played // 2)
            repeated += len(played)
    assert dbfs(np.concatenate(call.heard)) > -40
    assert dbfs(np.concatenate(call.cleaned)) < dbfs(np.concatenate(call.heard)) - 10


async def test_the_vendors_stop_ends_the_call_and_ours_ends_the_stream(echo: EchoServer) -> None:
    async with Peer(echo.session, echo.url, "twilio") as peer:
        await peer.wait(lambda: bool(echo.calls))
    await echo.app[CALLS].over()
    assert echo.calls[0].ended == "hangup"
    async with Peer(echo.session, echo.url, "telnyx") as peer:
        await peer.wait(lambda: len(echo.calls) == 2)
        echo.calls[1].hang_up("farewell")
        await peer.wait(lambda: peer.socket.closed)
    assert echo.calls[1].ended == "farewell"
    assert len(echo.app[CALLS]) == 0


async def test_calls_of_all_vendors_at_once_keep_their_audio_apart(echo: EchoServer) -> None:
    hz = [300 + 100 * number for number in range(8)]

    async def one(number: int) -> float:
        vendor = list(SECRETS)[number % len(SECRETS)]
        async with Peer(echo.session, echo.url, vendor) as peer:
            peer.say(tone(hz[number], peer.rate_hz, 1.0))
            await peer.wait(lambda: len(loud(peer.heard_pcm())) >= 0.98 * peer.rate_hz)
            return peak_hz(loud(peer.heard_pcm()), peer.rate_hz)

    found = await asyncio.gather(*(one(number) for number in range(len(hz))))
    assert [round(peak / 10) * 10 for peak in found] == hz


async def fill(leg: StreamLeg) -> None:
    while True:
        await leg._send(bytes(65_536))


@pytest.mark.parametrize("limits", [StreamLimits(send_s=0.3)], ids=["impatient"])
async def test_a_stream_that_is_not_read_ends_as_lost(echo: EchoServer) -> None:
    _, answer = await ask(echo.session, echo.url, webhook("jambonz"))
    socket = await echo.session.ws_connect(echo.url.replace("http", "ws") + stream_path(answer), max_msg_size=0)
    await socket.send_str(json.dumps({"callSid": "c", "sampleRate": 16_000}))
    await echo.begun.wait()
    leg = echo.calls[0].leg
    connection = socket._conn
    assert connection is not None
    transport: Any = connection.transport
    transport.pause_reading()
    with pytest.raises((ConnectionError, TimeoutError)):
        await fill(leg)
    leg.playout.push(1, 0, tone(440, 24_000, 1.0), complete=True)
    await echo.app[CALLS].over()
    transport.abort()
    assert echo.calls[0].ended == "lost"


async def test_a_stream_whose_connection_breaks_ends_as_lost_and_says_so(
    echo: EchoServer, caplog: pytest.LogCaptureFixture
) -> None:
    _, answer = await ask(echo.session, echo.url, webhook("jambonz"))
    socket = await echo.session.ws_connect(echo.url.replace("http", "ws") + stream_path(answer))
    await socket.send_str(json.dumps({"callSid": "c", "sampleRate": 16_000}))
    await echo.begun.wait()
    connection = socket._conn
    assert connection is not None
    transport: Any = connection.transport
    transport.abort()
    await echo.app[CALLS].over()
    assert echo.calls[0].ended == "lost"
    assert "its connection was lost" in caplog.text


@pytest.mark.parametrize("limits", [StreamLimits(send_s=0.3, close_s=0.3)], ids=["impatient"])
async def test_a_stream_that_is_not_read_is_closed_all_the_same(echo: EchoServer) -> None:
    _, answer = await ask(echo.session, echo.url, webhook("jambonz"))
    socket = await echo.session.ws_connect(echo.url.replace("http", "ws") + stream_path(answer), max_msg_size=0)
    await socket.send_str(json.dumps({"callSid": "c", "sampleRate": 16_000}))
    await echo.begun.wait()
    call = echo.calls[0]
    connection = socket._conn
    assert connection is not None
    transport: Any = connection.transport
    transport.pause_reading()
    with pytest.raises((ConnectionError, TimeoutError)):
        await fill(call.leg)
    call.hang_up("farewell")
    await socket.send_bytes(bytes(640))
    wire: Any = call.leg._wire
    async with asyncio.timeout(3):
        await echo.app[CALLS].over()
    await until(lambda: wire._request.transport is None)
    assert call.ended == "farewell"
