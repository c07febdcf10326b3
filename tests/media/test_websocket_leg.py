"""The WebSocket leg: audio in events both ways, in order with the client's messages, within bounds."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from voiceagent.audio import g711
from voiceagent.media.outgoing_events import ReaderLimits
from voiceagent.media.playout import Position
from voiceagent.media.websocket.event_audio import Encoding, EventDecoder, EventEncoder
from voiceagent.media.websocket.event_player import AHEAD_S
from voiceagent.media.websocket.outbox import READS_TOO_SLOWLY, Closing
from voiceagent.media.websocket.websocket_leg import MAX_MESSAGES_IN, TOO_MANY, WebSocketLeg
from voiceagent.realtime.openai_realtime import appended_audio

SECOND = np.zeros(24_000, np.int16)


class HeldWire:
    """A client that reads only while it is let."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.closed: asyncio.Future[Closing] = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Event()

    async def send(self, message: str) -> None:
        await self.reads.wait()
        self.sent.append(json.loads(message))
        self.changed.set()

    async def close(self, code: int, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result((code, reason))


@pytest.fixture
async def wire() -> HeldWire:
    return HeldWire()


@pytest.fixture
async def leg(wire: HeldWire) -> AsyncIterator[WebSocketLeg]:
    made = WebSocketLeg(wire, appended_audio)
    yield made
    await made.close()


def append(pcm: np.ndarray[Any, np.dtype[np.int16]]) -> str:
    return json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm.astype("<i2").tobytes()).decode()})


async def test_audio_comes_as_frames_and_a_message_behind_it_after_them(leg: WebSocketLeg) -> None:
    order: list[str] = []

    async def hear() -> None:
        async for frame in leg.frames():
            assert frame.pcm.shape == (320,)
            order.append("frame")

    async def read() -> None:
        async for text in leg.client_events():
            order.append(text)
            leg.gone()

    async with asyncio.TaskGroup() as group:
        group.create_task(hear())
        group.create_task(read())
        await leg.receive(append(SECOND))
        await leg.receive('{"type": "input_audio_buffer.commit"}')
    assert order[-1] == '{"type": "input_audio_buffer.commit"}'
    assert order.count("frame") in (49, 50)  # the resampler holds back a little


@pytest.mark.parametrize("audio", ["", "no base64!", base64.b64encode(b"odd").decode()])
async def test_audio_that_cannot_be_used_is_handed_to_the_session(leg: WebSocketLeg, audio: str) -> None:
    text = json.dumps({"type": "input_audio_buffer.append", "audio": audio})
    await leg.receive(text)
    assert await anext(leg.client_events()) == text


@pytest.mark.parametrize("encoding", ["pcm", "pcmu", "pcma"])
def test_each_encoding_comes_back_as_the_same_sound(encoding: Encoding) -> None:
    tone = (8000 * np.sin(np.arange(24_000) * 2 * np.pi * 440 / 24_000)).astype(np.int16)
    text = EventEncoder(encoding).encode(tone)
    frames = EventDecoder(encoding).decode(text)
    assert frames is not None
    heard = np.concatenate(frames)
    assert len(heard) == pytest.approx(16_000, abs=640)
    assert np.sqrt(np.mean(np.square(heard[2000:-2000], dtype=np.float64))) == pytest.approx(8000 / np.sqrt(2), rel=0.05)


def test_g711_is_8_bits_a_sample_at_8_khz() -> None:
    assert len(base64.b64decode(EventEncoder("pcmu").encode(SECOND))) == 8000
    assert g711.decode(base64.b64decode(EventEncoder("pcma").encode(SECOND)), alaw=True).any() in (True, False)


async def test_the_agents_audio_goes_ahead_of_the_clock_and_counts_as_heard_by_time(leg: WebSocketLeg) -> None:
    sent: list[tuple[int, int, float]] = []
    heard: list[Position] = []
    loop = asyncio.get_running_loop()
    is_over = asyncio.Event()

    def on_sent(position: Position) -> None:
        heard.append(position)
        if position[2] >= 1000.0:
            is_over.set()

    leg.deliver_audio(lambda end, clause, _, duration_ms: sent.append((end[0], clause, duration_ms)))
    leg.playout.on_sent = on_sent
    began_s = loop.time()
    leg.playout.push(1, 0, SECOND, complete=True)
    await is_over.wait()
    assert loop.time() - began_s >= 0.98, "heard no sooner than it can be played"
    assert sum(duration_ms for _, _, duration_ms in sent) == pytest.approx(1000.0)
    assert {(reply_id, clause) for reply_id, clause, _ in sent} == {(1, 0)}
    assert sent[0][2] == pytest.approx(AHEAD_S * 1000.0)
    assert heard[0][2] <= 40.0


async def test_a_cancelled_reply_was_heard_as_far_as_its_time_went(leg: WebSocketLeg) -> None:
    started = asyncio.Event()
    leg.deliver_audio(lambda *_: None)
    leg.playout.on_sent = lambda position: started.set() if position[2] >= 100.0 else None
    leg.playout.push(1, 0, SECOND, complete=True)
    await started.wait()
    _, clause, played_ms = leg.playout.cancel(1)
    assert clause == 0
    assert 100.0 <= played_ms < 100.0 + AHEAD_S * 1000.0, "not what was sent ahead"


@pytest.mark.parametrize("limits", [ReaderLimits(size_bytes=10_000), ReaderLimits(events=20), ReaderLimits(timeout_s=0.05)])
async def test_a_client_that_reads_nothing_is_closed_with_a_reason(wire: HeldWire, limits: ReaderLimits) -> None:
    wire.reads.clear()
    leg = WebSocketLeg(wire, appended_audio, limits=limits)
    for _ in range(23):
        leg.send_event({"type": "x", "pad": "x" * 500} if limits.timeout_s > 1.0 else {"type": "x"})
        await asyncio.sleep(0)
    assert [frame async for frame in leg.frames()] == [], "it ends"
    assert leg.end_reason == "too_slow"
    await leg.close()
    assert await wire.closed == READS_TOO_SLOWLY


async def test_a_client_that_reads_again_gets_joined_deltas_in_order(leg: WebSocketLeg, wire: HeldWire) -> None:
    def audio(number: int, pcm: np.ndarray[Any, np.dtype[np.int16]]) -> dict[str, Any]:
        delta = base64.b64encode(pcm.astype("<i2").tobytes()).decode()
        return {"type": "response.output_audio.delta", "event_id": f"audio_{number}", "item_id": "a", "delta": delta}

    wire.reads.clear()
    leg.send_event({"type": "first"})
    await asyncio.sleep(0)  # it is on its way, so that the client counts as slow
    sound = np.arange(1000, dtype=np.int16)
    for number in range(10):
        leg.send_event(audio(number, sound[number * 100 : number * 100 + 100]))
    leg.send_event({"type": "last"})
    wire.reads.set()
    while len(wire.sent) < 3:
        wire.changed.clear()
        await wire.changed.wait()
    first, joined, last = wire.sent
    assert (first["type"], last["type"], joined["event_id"]) == ("first", "last", "audio_9")
    assert base64.b64decode(joined["delta"]) == sound.astype("<i2").tobytes()


async def test_a_client_whose_events_nobody_can_read_in_time_is_closed_with_a_reason(leg: WebSocketLeg, wire: HeldWire) -> None:
    for _ in range(MAX_MESSAGES_IN + 1):
        await leg.receive('{"type": "response.cancel"}')
    assert leg.end_reason == "abuse"
    await leg.close()
    assert await wire.closed == TOO_MANY


async def test_what_waits_is_sent_before_the_connection_is_closed(leg: WebSocketLeg, wire: HeldWire) -> None:
    leg.send_event({"type": "voiceagent.call_ended"})
    await leg.close()
    assert wire.sent == [{"type": "voiceagent.call_ended"}]
    assert (await wire.closed)[0] == 1000
