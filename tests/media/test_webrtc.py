"""What is heard and said over a WebRTC leg, and its events: real aiortc on both ends, in one process."""

from __future__ import annotations

import asyncio
import itertools
import time
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.media.conftest import MediaServer, collect, echo, listen, tone
from voiceagent.audio.format import HEARD_HZ
from voiceagent.audio.levels import dbfs
from voiceagent.client.caller import Caller
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import MediaError
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc import event_channel
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg


def peak_hz(pcm: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    return float(np.argmax(spectrum) * rate_hz / len(pcm))


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
    assert abs(peak_hz(np.concatenate([f.pcm for f in frames[20:]]), HEARD_HZ) - 440.0) < 5
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
    async with Caller(server.url, relay=ImpairedRelay(impairment)) as caller:
        caller.said._join_ms = 50.0
        for _ in range(2 * seconds):
            caller.say(beep)
        await caller.wait_said()
        assert not caller.end_reason
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


async def test_a_peer_that_acknowledges_late_still_learns_why_the_call_ends(media_server: MediaServer) -> None:
    """What an association has not sent is lost with it, and a congestion window of unacknowledged data lets nothing go out."""
    end, ended = asyncio.Event(), asyncio.Event()

    async def tell(leg: WebRtcLeg) -> None:
        await anext(aiter(leg.client_events()))
        leg.send_event({"type": "hello"})
        await end.wait()
        for _ in range(20):
            leg.send_event({"type": "much", "text": "x" * 4000})
        leg._end("abuse")
        leg.send_event({"type": "last"})
        ended.set()

    media_server.behaviour = tell
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.send_event({"type": "hello"})
        events = caller.events()
        await anext(events)
        assert caller._peer is not None
        sctp: Any = caller._peer.sctp
        handle, held = sctp._handle_data, asyncio.Queue[bytes]()
        sctp._handle_data = held.put
        end.set()
        first = await held.get()
        await ended.wait()
        sctp._handle_data = handle
        await handle(first)
        while not held.empty():
            await handle(held.get_nowait())
        types = [event.type async for event in events]
    assert types[-1] == "last"


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


async def test_a_slow_reader_loses_the_oldest_frames_and_they_are_counted(media_server: MediaServer) -> None:
    enough = asyncio.Event()

    async def slow(leg: WebRtcLeg) -> None:
        leg._inbound.most = 10
        await enough.wait()
        assert len(leg._inbound) == 10
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
        assert caller._receiver is not None
        assert caller._receiver.jitter.stats.received <= len(arrivals) - 10
        whole_s = (arrivals[-1] - arrivals[0]) / 1000.0
        assert len(arrivals) == pytest.approx(whole_s * 50, abs=8)


async def test_what_a_caller_says_has_no_gap_where_the_caller_was_held_up(media_server: MediaServer) -> None:
    """A microphone goes on while its program is held up."""
    frames: list[np.ndarray] = []

    async def hear(leg: WebRtcLeg) -> None:
        frames.extend([frame.pcm async for frame in leg.frames()])

    media_server.behaviour = hear
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        caller.say(tone(2.0))
        while not caller.said.spans:
            await caller._wait_change()
        await asyncio.sleep(0.5)
        time.sleep(0.4)  # noqa: ASYNC251  the stall is the point
        await caller.wait_said()
        await caller.wait_quiet(400)
        await caller.hangup()
    await media_server.finish()
    audio = np.concatenate(frames).astype(np.float64)
    level = np.sqrt(np.mean(audio[: len(audio) // 160 * 160].reshape(-1, 160) ** 2, axis=1))  # of 10 ms each
    loud = np.flatnonzero(level > 0.5 * np.median(level[level > 1000]))
    assert loud[-1] - loud[0] == pytest.approx(200, abs=4)
    assert len(loud) == pytest.approx(200, abs=4)


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


async def test_a_call_is_recorded_on_one_time_line(media_server: MediaServer, tmp_path: Path) -> None:
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
