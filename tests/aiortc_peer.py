"""aiortc's own peer, as another implementation to talk to. It connects on machines that have nothing but loopback, too."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import aioice.ice
from aiortc import MediaStreamTrack, RTCRtpCodecCapability, RTCRtpSender
from aiortc.mediastreams import MediaStreamError
from av.packet import Packet
from av.stream import Stream

from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.webrtc.ice_connection import LOOPBACK

_gathered = aioice.ice.get_host_addresses


def allow_loopback() -> None:
    """Let aiortc's peers of this process gather loopback where they find no other address."""
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: _gathered(use_ipv4, use_ipv6) or [LOOPBACK]


def opus_only() -> list[RTCRtpCodecCapability]:
    """Codec preferences that leave nothing but Opus."""
    return [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType.lower() == "audio/opus"]


class PacedTrack(MediaStreamTrack):
    """`PacedAudio` as a track."""

    kind = "audio"

    def __init__(self, audio: PacedAudio) -> None:
        super().__init__()
        self._audio = audio
        self._packets: asyncio.Queue[Packet[Stream]] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None

    def stop(self) -> None:
        super().stop()
        self._audio.stop()

    async def recv(self) -> Packet[Stream]:
        if self._running is None:
            self._running = asyncio.create_task(self._audio.run(self._put))
        if self.readyState != "live":
            raise MediaStreamError
        return await self._packets.get()

    def _put(self, payload: bytes, due_ms: float, begins: bool) -> None:
        packet: Packet[Stream] = Packet(payload)
        packet.pts, packet.time_base = round(due_ms), Fraction(1, 1000)
        self._packets.put_nowait(packet)
