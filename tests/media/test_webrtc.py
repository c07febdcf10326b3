"""Real aiortc on both ends, in one process."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import threading
import time
import wave
from collections.abc import Iterator
from typing import Any

import aiortc.rtcrtpreceiver
import numpy as np
import psutil
import pytest
from aiohttp import web
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.rtp import RtpPacket

from tests.media.conftest import MediaServer, collect, echo, listen
from voiceagent.audio.levels import dbfs
from voiceagent.errors import MediaError
from voiceagent.media import aiortc_hooks, event_channel
from voiceagent.media.caller import Caller
from voiceagent.media.impairment import Impairment, Relay
from voiceagent.media.ticker import Ticker
from voiceagent.media.webrtc import HEARD_RATE_HZ, WebRtcLeg, opus_only


def tone(seconds: float, hz: float = 440.0, rate_hz: int = 24_000, amplitude: float = 8000.0) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def peak_hz(pcm: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    return float(np.argmax(spectrum) * rate_hz / len(pcm))


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Nothing here may take a minute, whatever it waits for."""
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < 60


async def test_a_tone_goes_to_the_server_and_comes_back(media_server: MediaServer) -> None:
    media_server.behaviour = echo
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        heard: list[np.ndarray] = []
        caller.on_frame = lambda frame: heard.append(frame.pcm)
        said_ms = time.monotonic() * 1000.0
        caller.say(tone(1.0))
        onset_ms = await caller.wait_heard(said_ms)
        await caller.wait_quiet(400)
        assert onset_ms - caller.said.spans[0].onset_ms < 300
        audio = np.concatenate(heard)
        start = int(np.flatnonzero(np.abs(audio.astype(np.int32)) > 1000)[0])
        middle = audio[start + 4800 : start + 14400]
        assert abs(peak_hz(middle, 24_000) - 440.0) < 5
        assert dbfs(middle) == pytest.approx(dbfs(tone(0.4)), abs=2.0)


async def test_the_leg_hears_frames_of_16_khz(media_server: MediaServer) -> None:
    frames = []

    async def hear(leg: WebRtcLeg) -> None:
        frames.extend(await collect(leg, 60))

    media_server.behaviour = hear
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(3.0))
        assert await caller.wait_ended() == "ended"
    assert all(frame.pcm.shape == (320,) and frame.pcm.dtype == np.int16 for frame in frames)
    assert abs(peak_hz(np.concatenate([f.pcm for f in frames[20:]]), HEARD_RATE_HZ) - 440.0) < 5
    assert not any(frame.concealed for frame in frames)


async def clicks_heard(server: MediaServer, impairment: Impairment, seconds: int) -> list[tuple[float, float]]:
    """Say a beep each half second through a bad network; (when it was said, how late the server heard it) for those heard,
    in ms. A beep is heard when the frame with it comes out of the leg, not when its packet arrived."""
    heard: list[float] = []

    async def hear(leg: WebRtcLeg) -> None:
        quiet = True
        async for frame in leg.frames():
            loud = dbfs(frame.pcm) > -25.0
            if loud and quiet:
                heard.append(time.monotonic() * 1000.0)
            quiet = not loud

    server.behaviour = hear
    beep = np.concatenate([tone(0.1), np.zeros(9600, dtype=np.int16)])
    async with Caller(server.url, relay=Relay(impairment)) as caller:
        caller.said._join_ms = 50.0
        for _ in range(2 * seconds):
            caller.say(beep)
        await caller.wait_said()
        said = [span.onset_ms for span in caller.said.spans]
        counters = server.legs[-1].counters
    print(impairment, counters)
    delays = []
    for said_ms in said:
        later = [at_ms - said_ms for at_ms in heard if 0 <= at_ms - said_ms < 480]
        if later:
            delays.append((said_ms, later[0]))
    return delays


async def test_loss_does_not_let_the_delay_grow(media_server: MediaServer) -> None:
    async with asyncio.timeout(40):
        delays = [d for _, d in await clicks_heard(media_server, Impairment(loss=0.05, seed=3), 8)]
    print("delay at 5 % loss, ms", np.round(delays))
    assert len(delays) >= 14
    assert np.median(delays[-6:]) <= np.median(delays[:6]) + 15
    assert np.median(delays) < 60
    assert media_server.legs[0].counters["packets_lost"] > 5


async def test_200_ms_of_jitter_with_reordering_does_not_let_the_delay_grow(media_server: MediaServer) -> None:
    async with asyncio.timeout(40):
        delays = [d for _, d in await clicks_heard(media_server, Impairment(jitter_ms=200, seed=4), 8)]
    print("delay at 200 ms jitter, ms", np.round(delays))
    assert len(delays) >= 14
    assert np.median(delays[-6:]) <= np.median(delays[:6]) + 60
    assert max(delays) < 480
    assert media_server.legs[0].counters["packets_reordered"] > 50


async def test_events_go_both_ways_and_wait_for_the_channel(media_server: MediaServer) -> None:
    got: list[str] = []

    async def talk(leg: WebRtcLeg) -> None:
        leg.send_event({"type": "session.created", "text": "ä"})
        async for text in leg.client_events():
            got.append(text)
            leg.send_event({"type": "echo", "text": text})

    media_server.behaviour = talk
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.send_event({"type": "hello"})
        events = caller.events()
        first = await anext(events)
        assert (first.type, first.data["text"]) == ("session.created", "ä")
        assert (await anext(events)).data["text"] == '{"type":"hello"}'
    assert got == ['{"type":"hello"}']


async def test_binary_and_oversized_messages_are_ignored_and_counted(media_server: MediaServer) -> None:
    async def talk(leg: WebRtcLeg) -> None:
        async for text in leg.client_events():
            leg.send_event({"type": "echo", "text": text})

    media_server.behaviour = talk
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.send_event({"type": "first"})
        events = caller.events()
        await anext(events)
        channel = caller._events._channel
        assert channel is not None
        channel.send(b"binary")
        channel.send("x" * (event_channel.MAX_MESSAGE_CHARS + 1))
        caller.send_event({"type": "last"})
        assert (await anext(events)).data["text"] == '{"type":"last"}'
        assert media_server.legs[0].counters["events_dropped_in"] == 2


async def test_the_backlog_before_the_channel_opens_is_bounded() -> None:
    channel = event_channel.EventChannel()
    for number in range(event_channel.MAX_WAITING + 10):
        channel.send({"n": number})
    assert channel.dropped_out == 10


async def offer_of(*, audio: bool = True, data: bool = True, video_line: bool = False) -> tuple[RTCPeerConnection, str]:
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
async def test_a_bad_offer_is_one_clear_line_or_answered(change, message: str | None) -> None:
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


async def test_a_machine_with_only_loopback_connects_to_itself(
    media_server: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aiortc_hooks, "_gathered_host_addresses", lambda use_ipv4, use_ipv6: [])
    media_server.behaviour = echo
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(0.5))
        await caller.wait_heard(0.0)
        assert "127.0.0.1" in caller._peer.localDescription.sdp  # type: ignore[union-attr]


async def test_other_machines_gather_what_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiortc_hooks, "_gathered_host_addresses", lambda use_ipv4, use_ipv6: ["192.0.2.9"])
    assert aiortc_hooks._host_addresses(True, True) == ["192.0.2.9"]


def test_the_private_interface_of_aiortc_is_where_we_expect_it(monkeypatch: pytest.MonkeyPatch) -> None:
    aiortc_hooks.check()
    monkeypatch.setattr(aiortc_hooks.aiortc, "__version__", "1.17.0")
    monkeypatch.delattr(aiortc.rtcrtpreceiver.RTCRtpReceiver, "_handle_rtp_packet")
    with pytest.raises(MediaError, match=r"its version is 1.17.0; .*_handle_rtp_packet moved.*expected 1\.16"):
        aiortc_hooks.check()


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
        caller._events._channel.close()  # type: ignore[union-attr]
        await media_server.finish()
        assert media_server.legs[0].end_reason == "hangup"


async def test_the_leg_is_lost_when_nothing_comes_any_more(media_server: MediaServer) -> None:
    media_server.options = {"silence_timeout_s": 1.0}
    relay = Relay(Impairment())
    async with asyncio.timeout(20), Caller(media_server.url, relay=relay) as caller:
        caller.say(tone(0.2))
        await caller.wait_said()
        relay.close()
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


async def test_a_slow_reader_loses_the_oldest_frames_and_they_are_counted(
    media_server: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voiceagent.media.webrtc.MAX_HEARD_FRAMES", 10)
    enough = asyncio.Event()

    async def slow(leg: WebRtcLeg) -> None:
        await enough.wait()
        assert len(leg._heard) == 10
        assert leg.counters["heard_frames_dropped"] > 5

    media_server.behaviour = slow
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(1.0))
        await caller.wait_said()
        enough.set()
        await caller.wait_ended()


async def test_the_pacer_keeps_time_and_skips_a_stall_instead_of_bursting(media_server: MediaServer) -> None:
    arrivals: list[float] = []

    async def talk(leg: WebRtcLeg) -> None:
        leg.playout.push(1, 0, tone(4.0), complete=True)
        await listen(leg)

    media_server.behaviour = talk
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.on_frame = lambda frame: arrivals.append(frame.received_ms)
        first_ms = await caller.wait_heard(0.0)
        while len(arrivals) < 50:
            await caller._wait_change()
        time.sleep(0.3)  # noqa: ASYNC251  the stall is the point
        while arrivals[-1] < first_ms + 3000:
            await caller._wait_change()
        assert media_server.legs[0].counters["frames_skipped"] >= 10
        # Both ends stalled: what the sender skipped was filled as a pause, and nothing came twice as fast.
        assert caller._receiver.jitter.stats.received <= len(arrivals) - 10  # type: ignore[union-attr]
        whole_s = (arrivals[-1] - arrivals[0]) / 1000.0
        assert len(arrivals) == pytest.approx(whole_s * 50, abs=8)


async def test_a_long_silence_is_hardly_sent_and_speech_after_it_comes_at_once(media_server: MediaServer) -> None:
    quiet: list[int] = []
    enough = asyncio.Event()
    pushed_ms = 0.0

    async def talk(leg: WebRtcLeg) -> None:
        nonlocal pushed_ms
        await enough.wait()
        pushed_ms = time.monotonic() * 1000.0
        leg.playout.push(1, 0, tone(0.5), complete=True)
        await listen(leg)

    def count(packet: RtpPacket, arrival_ms: float) -> None:
        if len(packet.payload) == 1:
            quiet.append(packet.timestamp)
            if len(quiet) == 4:
                enough.set()

    media_server.behaviour = talk
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.on_packet = count
        onset_ms = await caller.wait_heard(0.0)
        assert 0 <= onset_ms - pushed_ms < 300
        await caller.wait_quiet(300)
        assert media_server.legs[0].counters["frames_skipped"] == 0
    gaps = [(later - earlier) % 2**32 for earlier, later in itertools.pairwise(quiet[:4])]
    assert gaps == [20 * 960] * 3


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


async def test_played_is_reported_after_the_frame_was_sent(media_server: MediaServer) -> None:
    played: list[tuple[int, int, float]] = []

    async def talk(leg: WebRtcLeg) -> None:
        leg.playout.on_sent = played.append
        leg.playout.push(7, 0, tone(0.3), complete=True)
        await listen(leg)

    media_server.behaviour = talk
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        await caller.wait_heard(0.0)
        await caller.wait_quiet(300)
    assert [p[2] for p in played] == [20.0 * i for i in range(1, 16)]


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
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with pytest.raises(MediaError, match=r"refused the call \(503\): the server is full"):
            await Caller(f"http://127.0.0.1:{runner.addresses[0][1]}", "secret").connect()
    finally:
        await runner.cleanup()


async def test_a_call_is_recorded_on_one_time_line(media_server: MediaServer, tmp_path) -> None:
    media_server.behaviour = echo
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(0.5))
        await caller.wait_heard(0.0)
        await caller.wait_quiet(200)
    caller.recording.write(tmp_path / "call.wav")
    with wave.open(str(tmp_path / "call.wav")) as file:
        assert (file.getnchannels(), file.getframerate()) == (2, 24_000)
        both = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").reshape(-1, 2).astype(int)
    said, heard = (int(np.flatnonzero(np.abs(both[:, lane]) > 2000)[0]) for lane in (0, 1))
    assert 0 < heard - said < 24_000 * 0.3
    with pytest.raises(MediaError, match="cannot be written"):
        caller.recording.write(tmp_path / "no" / "call.wav")
