"""Two peers of ours connect, speak and part; a description with which none can connect is one clear line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiortc import RTCDataChannel

from tests.attacks.packets import CLIENT_HELLO, FATAL_ALERT, SERVER_HELLO
from voiceagent.audio.opus import RTP_CLOCK_HZ
from voiceagent.errors import MediaError
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.peer import Peer, PeerOptions
from voiceagent.media.webrtc.remote_description import read_remote
from voiceagent.media.webrtc.session_description import opus_codec
from voiceagent.media.webrtc.transport_guard import TransportGuard

LABEL = "events"


class Side:
    """One peer, and what came to it."""

    def __init__(self) -> None:
        self.guard = TransportGuard(lambda: None)
        self.audio = PacedAudio(lambda: None)
        self.packets: list[RtpPacket] = []
        self.changed = asyncio.Event()
        self.peer = Peer(self.audio, self._take, RTP_CLOCK_HZ, PeerOptions(guard=self.guard))
        self.peer.on_state = self.changed.set

    def _take(self, packet: RtpPacket) -> None:
        self.packets.append(packet)
        self.changed.set()

    async def reach(self, state: str) -> None:
        while self.peer.state != state:
            self.changed.clear()
            await self.changed.wait()

    async def hear(self, packets: int) -> None:
        while len(self.packets) < packets:
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Side, Side]]:
    sides = Side(), Side()
    try:
        async with asyncio.timeout(20):
            yield sides
    finally:
        for side in sides:
            await side.peer.close()


async def test_two_peers_connect_speak_and_part() -> None:
    async with two() as (caller, called):
        opened: asyncio.Future[RTCDataChannel] = asyncio.get_running_loop().create_future()
        called.peer.on_data_channel = opened.set_result
        offer = await caller.peer.offer([opus_codec()], LABEL)
        caller.peer.open_channel(LABEL)
        caller.peer.settle(await called.peer.answer(offer, opus_codec()), opus_codec())
        for side in (caller, called):
            await side.reach("connected")
            await side.hear(3)
            assert [packet.marker for packet in side.packets[:3]] == [1, 0, 0]
            assert {packet.payload_type for packet in side.packets} == {96}
        assert (await opened).label == LABEL
        await caller.peer.close()
        await called.reach("closed")
        assert caller.peer.state == "closed"


async def test_a_lost_path_is_no_hang_up() -> None:
    async with two() as (caller, called):
        caller.peer.settle(await called.peer.answer(await caller.peer.offer([opus_codec()]), opus_codec()), opus_codec())
        await called.reach("connected")
        await called.peer.transport.gatherer.connection.close()  # as ICE does when consent ends
        await called.reach("failed")


async def test_records_that_come_before_the_answer_wait_for_it() -> None:
    async with two() as (caller, called):
        offer = await caller.peer.offer([opus_codec()])
        connection = caller.peer.transport.gatherer.connection
        for record in (CLIENT_HELLO, SERVER_HELLO, FATAL_ALERT):
            connection.on_dtls(record)
        assert (caller.guard.dtls_refused, caller.peer.packets) == (1, 2)
        caller.peer.settle(await called.peer.answer(offer, opus_codec()), opus_codec())
        connection.on_dtls(SERVER_HELLO)
        assert caller.guard.dtls_refused == 2


async def test_media_that_comes_before_the_keys_waits_in_bounds() -> None:
    async with two() as (caller, _):
        await caller.peer.offer([opus_codec()])
        for _ in range(1000):
            caller.peer.transport.gatherer.connection.on_media(b"\x80" * 100)
        assert caller.guard.overflowed == 1000 - 256
        assert caller.packets == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a=rtcp-mux", "a=x", "the audio section has no a=rtcp-mux"),
        ("a=ice-ufrag", "a=x", "no a=ice-ufrag"),
        ("a=setup", "a=x", "no a=fingerprint and a=setup"),
        ("m=application", "m=text", "the description holds audio, text; expected one section of audio"),
        ("m=audio", "m=text", "the description holds text, application; expected one section of audio"),
    ],
)
async def test_a_description_with_which_none_can_connect_is_one_line(old: str, new: str, told: str) -> None:
    async with two() as (caller, _):
        offer = await caller.peer.offer([opus_codec()], LABEL)
        with pytest.raises(MediaError, match=told):
            read_remote(offer.replace(old, new))


async def test_an_answer_that_does_not_fit_the_offer_is_one_line() -> None:
    async with two() as (caller, called):
        offer = await caller.peer.offer([opus_codec()], LABEL)
        answer = await called.peer.answer(offer, opus_codec())
        alone = answer[: answer.index("m=application")]
        with pytest.raises(MediaError, match="the answer has the sections audio; expected audio, application"):
            caller.peer.settle(alone, opus_codec())
        with pytest.raises(MediaError, match="expected active or passive"):
            caller.peer.settle(answer.replace("a=setup:active", "a=setup:actpass"), opus_codec())
