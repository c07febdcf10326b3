"""A transport of a peer: ICE, DTLS over it, and the SRTP keys that come of DTLS. All datagrams pass here, in this order: the
gate of the socket (`ice_connection.py`), then by their kind the limits of `TransportGuard` or `RtpPace`, the keys, the parser."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

import pylibsrtp
from aiortc import RTCCertificate, RTCDtlsTransport, RTCIceGatherer, RTCIceTransport
from typing_extensions import override

from voiceagent.media.rtp import RtpPacket, is_rtcp
from voiceagent.media.webrtc.dtls_screen import FROM_CLIENT, FROM_SERVER
from voiceagent.media.webrtc.ice_connection import GatedConnection
from voiceagent.media.webrtc.remote_description import RemoteTransport
from voiceagent.media.webrtc.rtp_receiver import RtpPace
from voiceagent.media.webrtc.sctp_screen import PACKET_COST_BYTES
from voiceagent.media.webrtc.set_up_repeats import Repeats
from voiceagent.media.webrtc.transport_guard import MAX_QUEUED, TransportGuard


class Gatherer(RTCIceGatherer):
    """aiortc's gatherer with a connection of ours."""

    def __init__(self, connection: GatedConnection) -> None:
        super().__init__(iceServers=[])
        self.connection = self._connection = connection


class KeyedDtls(RTCDtlsTransport):
    """aiortc's DTLS, whose keys the transport uses itself. What the data channel still has to send when the connection closes is
    dropped: as shipped, each lost piece is the unhandled error of a task."""

    expected = FROM_CLIENT | FROM_SERVER
    """The handshake messages that the other side may send: all, until its role is known."""

    def take_role(self, *, is_server: bool) -> None:
        """Be the server of the handshake, or the client."""
        self.expected = FROM_CLIENT if is_server else FROM_SERVER
        self._set_role("server" if is_server else "client")

    @property
    def received(self) -> pylibsrtp.Session | None:
        """Opens the peer's packets; None until the handshake has proved who the peer is."""
        return self._rx_srtp

    @property
    def sent(self) -> pylibsrtp.Session | None:
        """Encrypts our packets."""
        return self._tx_srtp

    @override
    async def _send_data(self, data: bytes) -> None:
        is_closing = self._ssl is not None and self._ssl.get_shutdown()
        if not is_closing:
            with suppress(ConnectionError):
                await super()._send_data(data)


class Transport:
    """One of a peer's transports: its only one, if its sections are bundled."""

    def __init__(
        self,
        connection: GatedConnection,
        certificate: RTCCertificate,
        changed: Callable[[], None],
        guard: TransportGuard | None = None,
        pace: RtpPace | None = None,
    ) -> None:
        """`changed` is called when `state` may have changed. Without a guard and a pace all packets are taken."""
        self.packets = 0
        """The packets of any kind (RTP, RTCP, DTLS) that have come from the peer."""
        self.on_rtp: Callable[[RtpPacket], None] | None = None
        """Takes the peer's packets the moment the socket is read; must not raise."""
        self.on_rtcp: Callable[[bytes], None] | None = None
        """Raises ValueError for what it cannot read."""
        self.gatherer = Gatherer(connection)
        self.ice = RTCIceTransport(self.gatherer)
        self.dtls = KeyedDtls(self.ice, [certificate])
        self._connection = connection
        self._changed = changed
        self._guard = guard
        self._pace = pace
        self._unread = 0
        """Datagrams of DTLS that were not read yet."""
        self._early: deque[bytes] = deque()
        """Media that came before the keys."""
        self._flight: Repeats | None = None
        self._sending: pylibsrtp.Session | None = None
        """Encrypts our packets, while the transport is connected."""
        connection.on_media, connection.on_dtls, connection.on_sending = self._take_media, self._take_dtls, self._repeat_flight
        connection.on_read = self._on_read
        self.ice.on("statechange", changed)
        self.dtls.on("statechange", self._on_dtls)

    @property
    def state(self) -> str:
        """Its state: connecting, connected, closed (by the peer), or failed (it did not come up, or the path was lost)."""
        if self.ice.state == "failed" or self.dtls.state == "failed":
            return "failed"
        if self.dtls.state == "closed":
            return "closed" if self._connection.is_up else "failed"
        return "connected" if self.dtls.state == "connected" else "connecting"

    async def gather(self, *, is_controlling: bool) -> None:
        """Open the sockets, and learn of the candidates. Raises NoPortError."""
        self._connection.ice_controlling = is_controlling
        await self.gatherer.gather()

    async def connect(self, other: RemoteTransport) -> None:
        """Connect to the other side's; `state` tells whether it worked."""
        for candidate in other.candidates:
            await self.ice.addRemoteCandidate(candidate)
        if other.all_known:
            await self.ice.addRemoteCandidate(None)
        await self.ice.start(other.ice)
        if self.ice.state == "completed":
            await self.dtls.start(other.dtls)

    def send_rtp(self, packet: bytes) -> None:
        """Encrypt and send a packet. Raises ConnectionError when the transport is not connected."""
        self._connection.send_now(self._keys().protect(packet))

    def send_rtcp(self, packet: bytes) -> None:
        """The same for a packet of RTCP."""
        self._connection.send_now(self._keys().protect_rtcp(packet))

    async def stop(self) -> None:
        """Tell the peer, and close the sockets."""
        await self.dtls.stop()
        await self.ice.stop()
        if self._flight is not None:
            self._flight.stop()

    def _keys(self) -> pylibsrtp.Session:
        if self._sending is None:
            raise ConnectionError("the transport is not connected")
        return self._sending

    def _take_dtls(self, data: bytes) -> None:
        if self._guard is not None and not (
            self._guard.passes(data, self.dtls.expected)
            and self._guard.may_queue(len(data), self._unread, is_encrypted=self.dtls.encrypted)
        ):
            return
        self.packets += 1
        self._unread += 1
        self._connection.data_received(data, 1)

    def _on_read(self) -> None:
        self._unread -= 1

    def _take_media(self, data: bytes) -> None:
        keys = self.dtls.received
        if keys is None:
            self._keep_early(data)
        elif is_rtcp(data):
            self._take_rtcp(keys, data)
        elif self._pace is None or self._pace.may_open():
            self._take_rtp(keys, data)

    def _take_rtp(self, keys: pylibsrtp.Session, data: bytes) -> None:
        try:
            opened = keys.unprotect(data)
            self.packets += 1
            packet = RtpPacket.parse(opened)
        except (pylibsrtp.Error, ValueError):
            return
        if self.on_rtp is not None and (self._pace is None or self._pace.may_take()):
            self.on_rtp(packet)

    def _take_rtcp(self, keys: pylibsrtp.Session, data: bytes) -> None:
        guard = self._guard
        if guard is not None and not guard.may_queue(len(data), 0, is_encrypted=True):
            return
        try:
            opened = keys.unprotect_rtcp(data)
        except pylibsrtp.Error:
            return
        self.packets += 1
        if self.on_rtcp is None or (guard is not None and not guard.admit(len(opened) + PACKET_COST_BYTES)):
            return
        try:
            self.on_rtcp(opened)
        except ValueError:
            if guard is not None:
                guard.refuse_malformed()

    def _keep_early(self, data: bytes) -> None:
        if len(self._early) < MAX_QUEUED:
            self._early.append(data)
        elif self._guard is not None:
            self._guard.overflowed += 1

    def _on_dtls(self) -> None:
        early, self._early = self._early, deque()
        self._sending = self.dtls.sent if self.dtls.state == "connected" else None
        if self._sending is not None:
            for data in early:
                self._take_media(data)
        self._changed()

    def _repeat_flight(self, data: bytes) -> None:
        """Send each flight of the handshake again until the next one goes out. Nothing answers the last: its repeats go on."""
        if self.dtls.encrypted:
            return
        if self._flight is not None:
            self._flight.stop()
        self._flight = Repeats(lambda: self._send_again(data))

    def _send_again(self, data: bytes) -> None:
        if self.dtls.state in ("connecting", "connected"):
            with suppress(ConnectionError):
                self._connection.send_now(data)
