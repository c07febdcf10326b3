"""The receiving side of a peer's RTP: how many packets it may send, what is known of its streams, and the reports on them that go
back to it (RFC 3550 §6.4). So it learns of loss, and adds error correction."""

from __future__ import annotations

import time
from collections.abc import Callable

from aiortc.rtp import RtcpReceiverInfo, clamp_packets_lost

from voiceagent.media.rtp import RtpPacket
from voiceagent.token_bucket import Meter, TokenBucket

MAX_STREAMS = 8
"""Streams that are told apart; the oldest is forgotten."""

_WRAP = 1 << 16
_HALF = 1 << 15
_WRAP_TIME = 1 << 32
_HALF_TIME = 1 << 31


class RtpPace:
    """Limits the RTP packets of a peer, whatever becomes of their audio: opening each costs time that other calls need. Speech is
    50 packets a second; a network stalled for 5 s then delivers another 250."""

    def __init__(self, on_abuse: Callable[[], None] = lambda: None) -> None:
        """`on_abuse` is called with each further packet of a peer that goes on."""
        self.meter = Meter(TokenBucket(400.0, 1000.0), TokenBucket(200.0, 500.0))
        """Counts the packets that the peer's key proves to be its own."""
        self.unopened = 0
        """Packets that were too many to open. Anyone may have sent them, so they do not count as the peer's abuse."""
        self._all = TokenBucket(5000.0, 10_000.0)
        self._on_abuse = on_abuse

    def may_open(self) -> bool:
        """True when a packet that has come may be opened."""
        if self._all.take(1.0, time.monotonic()):
            return True
        self.unopened += 1
        return False

    def may_take(self) -> bool:
        """True when a packet opened with the peer's key may be used."""
        if self.meter.admit(1.0, time.monotonic()):
            return True
        if self.meter.exhausted:
            self._on_abuse()
        return False


class ReceivedStream:
    """One stream of the peer's: its numbers for reports (RFC 3550 §A.3, §A.8)."""

    __slots__ = (
        "_arrival",
        "_clock_hz",
        "_expected_before",
        "_first",
        "_highest",
        "_jitter_q4",
        "_received",
        "_received_before",
        "_report_came_s",
        "_report_ntp",
        "_timestamp",
    )

    def __init__(self, clock_hz: int) -> None:
        self._clock_hz = clock_hz
        self._first = self._highest = 0
        """Sequence numbers, with the wraps counted."""
        self._received = self._received_before = self._expected_before = 0
        self._arrival = self._timestamp = self._jitter_q4 = 0
        self._report_ntp, self._report_came_s = 0, 0.0

    def add(self, packet: RtpPacket) -> None:
        """A packet came now."""
        if not self._received:
            self._first = self._highest = packet.sequence_number
        ahead = (packet.sequence_number - self._highest + _HALF) % _WRAP - _HALF
        if ahead > 0 or not self._received:
            arrival = int(time.monotonic() * self._clock_hz)
            if self._received and packet.timestamp != self._timestamp:
                moved = (packet.timestamp - self._timestamp + _HALF_TIME) % _WRAP_TIME - _HALF_TIME
                difference = abs(arrival - self._arrival - moved)
                self._jitter_q4 += difference - ((self._jitter_q4 + 8) >> 4)
            self._highest += max(ahead, 0)
            self._arrival, self._timestamp = arrival, packet.timestamp
        self._received += 1

    def reported(self, ntp: int) -> None:
        """The peer's own report came, at so much of NTP's time (the middle 32 bits)."""
        self._report_ntp, self._report_came_s = ntp, time.monotonic()

    def report(self, ssrc: int) -> RtcpReceiverInfo:
        """Our report on it."""
        expected = self._highest - self._first + 1
        expected_since, received_since = expected - self._expected_before, self._received - self._received_before
        self._expected_before, self._received_before = expected, self._received
        lost_since = max(expected_since - received_since, 0)
        delay_s = time.monotonic() - self._report_came_s if self._report_ntp else 0.0
        return RtcpReceiverInfo(
            ssrc=ssrc,
            fraction_lost=(lost_since << 8) // expected_since if lost_since else 0,
            packets_lost=clamp_packets_lost(expected - self._received),
            highest_sequence=self._highest & 0xFFFF_FFFF,
            jitter=min(self._jitter_q4 >> 4, 0xFFFF_FFFF),
            lsr=self._report_ntp,
            dlsr=min(int(delay_s * 65_536), 0xFFFF_FFFF),
        )


class RtpReceiver:
    """Gives each packet to `take`, and keeps count of the streams."""

    def __init__(self, take: Callable[[RtpPacket], None], clock_hz: int) -> None:
        self._take = take
        self._clock_hz = clock_hz
        self._streams: dict[int, ReceivedStream] = {}

    def receive(self, packet: RtpPacket) -> None:
        """A packet came now."""
        stream = self._streams.get(packet.ssrc)
        if stream is None:
            if len(self._streams) >= MAX_STREAMS:
                self._streams.pop(next(iter(self._streams)))
            stream = self._streams[packet.ssrc] = ReceivedStream(self._clock_hz)
        stream.add(packet)
        self._take(packet)

    def reported(self, ssrc: int, ntp: int) -> None:
        """See `ReceivedStream.reported`."""
        stream = self._streams.get(ssrc)
        if stream is not None:
            stream.reported(ntp)

    def reports(self) -> list[RtcpReceiverInfo]:
        """A report on each stream."""
        return [stream.report(ssrc) for ssrc, stream in self._streams.items()]
