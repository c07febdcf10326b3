"""RTCP of one audio stream in each direction: reports about twice in two seconds, and a goodbye (RFC 3550 §6). Requests to send
again are ignored: each generic NACK (RFC 4585 §6.2.1) can ask for thousands of packets, and for audio none is offered."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable
from contextlib import suppress

from aiortc.rtp import (
    RtcpByePacket,
    RtcpPacket,
    RtcpRrPacket,
    RtcpSdesPacket,
    RtcpSourceInfo,
    RtcpSrPacket,
)

from voiceagent.media.webrtc.rtp_receiver import RtpReceiver
from voiceagent.media.webrtc.rtp_sender import RtpSender

INTERVAL_S = 1.0
_CNAME = 1


class Rtcp:
    """Sends reports from `begin` to `end`."""

    def __init__(self, sender: RtpSender, receiver: RtpReceiver, cname: str, send: Callable[[bytes], None]) -> None:
        self._sender = sender
        self._receiver = receiver
        self._source = RtcpSdesPacket(chunks=[RtcpSourceInfo(ssrc=sender.ssrc, items=[(_CNAME, cname.encode())])])
        self._send = send
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The transport is connected."""
        # The interval is varied, so that the reports of many calls do not come at once (RFC 3550 §6.2).
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S * random.uniform(0.5, 1.5), self._report)

    def end(self) -> None:
        """Say goodbye, if it has begun."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            with suppress(ConnectionError):
                self._send(bytes(RtcpByePacket(sources=[self._sender.ssrc])))

    def receive(self, data: bytes) -> None:
        """Take the peer's packets. Raises ValueError for what cannot be read."""
        try:
            packets = RtcpPacket.parse(data)
        except (struct.error, IndexError) as error:
            raise ValueError(f"RTCP cannot be read: {error}") from error
        for packet in packets:
            if isinstance(packet, RtcpSrPacket):
                self._receiver.reported(packet.ssrc, packet.sender_info.ntp_timestamp >> 16 & 0xFFFF_FFFF)

    def _report(self) -> None:
        self.begin()
        ssrc, reports = self._sender.ssrc, self._receiver.reports()
        if self._sender.has_sent:
            report = bytes(RtcpSrPacket(ssrc=ssrc, sender_info=self._sender.report(), reports=reports))
        else:
            report = bytes(RtcpRrPacket(ssrc=ssrc, reports=reports))
        with suppress(ConnectionError):
            self._send(report + bytes(self._source))
