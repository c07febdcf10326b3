"""The sending side of a peer's RTP: payloads become packets of one stream, which are counted for its reports (RFC 3550
§6.4.1)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiortc.rtp import RtcpSenderInfo

from voiceagent.media.rtp import RtpPacket, header

_NTP_EPOCH_S = 2_208_988_800
"""From 1900 to 1970."""


@dataclass(frozen=True, slots=True)
class OtherPacket:
    """A packet that is sent in the place of a frame."""

    payload_type: int
    payload: bytes
    marker: bool
    ticks_ago: int
    """Its timestamp, in ticks before the frame's."""


class RtpSender:
    """One stream. Its sequence numbers start low: they must not wrap before SRTP's receiver has had one (RFC 3711 §3.3.1)."""

    def __init__(self, send: Callable[[bytes], None], instead: Callable[[], OtherPacket | None] | None = None) -> None:
        """`send` takes each packet; `instead` is asked before each frame for another packet in its place."""
        self.ssrc = secrets.randbits(32)
        self.has_sent = False
        self._send = send
        self._instead = instead
        self._payload_type = 0
        self._extension = b""
        self._sequence_number = secrets.randbits(15)
        self._origin = secrets.randbits(32)
        self._packets = self._bytes = 0
        self._sent_s, self._sent_timestamp = 0.0, 0

    def begin(self, payload_type: int, extension: bytes) -> None:
        """The payload type was settled, and the header extension that each packet has."""
        self._payload_type, self._extension = payload_type, extension

    def send(self, payload: bytes, ticks: int, begins: bool) -> None:
        """Send a frame that is due at so many ticks of the stream's clock. `begins`: speech begins with it, or the stream."""
        timestamp = self._origin + ticks & 0xFFFF_FFFF
        packet = RtpPacket(self._payload_type, begins, self._sequence_number, timestamp, self.ssrc, payload)
        other = None if self._instead is None else self._instead()
        if other is not None:
            packet.payload_type, packet.marker, packet.payload = other.payload_type, other.marker, other.payload
            packet.timestamp = timestamp - other.ticks_ago & 0xFFFF_FFFF
        self._send(header(packet, self._extension) + packet.payload)
        self._sequence_number = self._sequence_number + 1 & 0xFFFF
        self._packets += 1
        self._bytes += len(packet.payload)
        self._sent_s, self._sent_timestamp = time.time(), timestamp
        self.has_sent = True

    def report(self) -> RtcpSenderInfo:
        """The amount that it sent, and the time of its latest frame on two clocks."""
        return RtcpSenderInfo(
            ntp_timestamp=int((self._sent_s + _NTP_EPOCH_S) * (1 << 32)),
            rtp_timestamp=self._sent_timestamp,
            packet_count=self._packets & 0xFFFF_FFFF,
            octet_count=self._bytes & 0xFFFF_FFFF,
        )
