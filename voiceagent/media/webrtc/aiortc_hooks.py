"""Everything that reaches behind aiortc's public interface, for the pinned 1.16; `check` raises when a release changed it.

As shipped, aiortc holds 80 ms of audio back, stalls for 300 ms on each lost packet and keeps the delay for the rest of the call,
and does not gather loopback addresses. So our own jitter buffer takes RTP packets straight from the receiver."""

from __future__ import annotations

import inspect
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aioice.ice
import aiortc
import pylibsrtp
from aiortc import RTCIceTransport, RTCPeerConnection, RTCRtpReceiver
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import RtpPacket, is_rtcp

from voiceagent.errors import MediaError
from voiceagent.media.webrtc import ice_hooks, ice_sockets, set_up_repeats, transport_hooks
from voiceagent.media.webrtc.datagram_gate import DatagramGate
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.task_owner import TaskOwner
from voiceagent.token_bucket import Meter, TokenBucket

SUPPORTED = "1.16."
Moved = Callable[[], list[str]]
"""Lists the parts of the installed aiortc that are elsewhere than a hook expects."""

_RECEIVED_PACKETS = "_RTCDtlsTransport__rx_packets"
_SRTP_SESSION = "_rx_srtp"
_HEADER_EXTENSIONS = "_rtp_header_extensions_map"
_ICE_CONNECTION = "_connection"
_DATA_RECEIVED = "data_received"
_SEND_DATA = "_send_data"
_RTP_HOOK = "_handle_rtp_packet"
_REMOTE_STREAMS = "_RTCRtpReceiver__remote_streams"
_DECODER_QUEUE = "_RTCRtpReceiver__decoder_queue"
_MAX_STREAMS = 8
_LOOPBACK = "127.0.0.1"

_gathered_host_addresses = aioice.ice.get_host_addresses


def _host_addresses(use_ipv4: bool, use_ipv6: bool) -> list[str]:
    """aioice leaves loopback out; on a machine that has nothing else, loopback is the only way."""
    addresses = list(_gathered_host_addresses(use_ipv4, use_ipv6))
    return addresses or ([_LOOPBACK] if use_ipv4 else [])


def allow_loopback() -> None:
    """Let a machine with only `lo` connect to itself. Other machines gather the same addresses as before."""
    aioice.ice.get_host_addresses = _host_addresses


def prepare(*more: Moved) -> None:
    """Set up what the connections of this process need, before the first one: loopback, and sockets behind a gate. Raises what
    `check` raises."""
    check(*more)
    allow_loopback()
    ice_hooks.install()


def check(*more: Moved) -> None:
    """Raises MediaError when the installed aiortc is not the one that the hooks were written for. `more`: other rooms' hooks."""
    problems = []
    if not aiortc.__version__.startswith(SUPPORTED):
        problems.append(f"its version is {aiortc.__version__}")
    hook = getattr(RTCRtpReceiver, _RTP_HOOK, None)
    if hook is None or list(inspect.signature(hook).parameters) != ["self", "packet", "arrival_time_ms"]:
        problems.append(f"RTCRtpReceiver.{_RTP_HOOK} moved")
    receiver_fields = RTCRtpReceiver.__init__.__code__.co_names
    if _REMOTE_STREAMS not in receiver_fields:
        problems.append("RTCRtpReceiver keeps its streams elsewhere")
    if _DECODER_QUEUE not in receiver_fields:
        problems.append("RTCRtpReceiver keeps its decoder's work elsewhere")
    transport_fields = RTCDtlsTransport.__init__.__code__.co_names
    if _RECEIVED_PACKETS not in transport_fields:
        problems.append("RTCDtlsTransport counts packets elsewhere")
    if _SRTP_SESSION not in transport_fields or _HEADER_EXTENSIONS not in transport_fields:
        problems.append("RTCDtlsTransport keeps what opens its packets elsewhere")
    send_data = getattr(RTCDtlsTransport, _SEND_DATA, None)
    if send_data is None or list(inspect.signature(send_data).parameters) != ["self", "data"]:
        problems.append(f"RTCDtlsTransport.{_SEND_DATA} moved")
    if _ICE_CONNECTION not in RTCIceTransport.__init__.__code__.co_names:
        problems.append("RTCIceTransport keeps its connection elsewhere")
    data_received = getattr(aioice.ice.Connection, _DATA_RECEIVED, None)
    if data_received is None or list(inspect.signature(data_received).parameters) != ["self", "data", "component"]:
        problems.append(f"aioice's Connection.{_DATA_RECEIVED} moved")
    if not callable(getattr(aioice.ice, "get_host_addresses", None)):
        problems.append("aioice gathers addresses elsewhere")
    problems += ice_hooks.moved() + ice_sockets.moved() + transport_hooks.moved() + set_up_repeats.moved()
    problems += [problem for one in more for problem in one()]
    if problems:
        found = "; ".join(problems)
        raise MediaError(f"aiortc cannot be used: {found}; expected {SUPPORTED}*: pip install 'aiortc=={SUPPORTED}*'")


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


def take_rtp(receiver: RTCRtpReceiver, handler: Callable[[RtpPacket], None], clock_hz: int, pace: RtpPace | None = None) -> None:
    """Give each RTP packet of `receiver` to `handler` instead of aiortc's decoder, whose thread ends as soon as it starts.

    The handler runs the moment the socket is read. On aiortc's way a packet waits in a queue for a task, two more rounds of the
    event loop, which is half of the cost of receiving it. Statistics are still kept, so the sender is told about loss (RTCP
    receiver reports) and adds error correction. Call this once both descriptions are set, before the loop runs on: only then is
    it settled which transport the receiver uses. `handler` must not raise. Without a `pace` all packets are taken."""
    getattr(receiver, _DECODER_QUEUE).put(None)
    streams: dict[int, StreamStatistics] = getattr(receiver, _REMOTE_STREAMS)

    def take(packet: RtpPacket) -> None:
        stream = streams.get(packet.ssrc)
        if stream is None:
            if len(streams) >= _MAX_STREAMS:
                streams.pop(next(iter(streams)))
            stream = streams[packet.ssrc] = StreamStatistics(clock_hz)
        stream.add(packet)
        handler(packet)

    async def take_queued(packet: RtpPacket, arrival_time_ms: int) -> None:
        take(packet)

    setattr(receiver, _RTP_HOOK, take_queued)
    _take_at_once(receiver.transport, take, pace)


def _take_at_once(transport: RTCDtlsTransport, take: Callable[[RtpPacket], None], pace: RtpPace | None = None) -> None:
    """RTP bypasses the queue of `transport`; DTLS, RTCP and what comes before the keys are known do not (RFC 7983)."""
    connection = ice_connection(transport)
    enqueue: Callable[[bytes, int], None] = getattr(connection, _DATA_RECEIVED)

    def data_received(data: bytes, component: int) -> None:
        session: pylibsrtp.Session | None = getattr(transport, _SRTP_SESSION)
        if session is None or not data or not 127 < data[0] < 192 or is_rtcp(data):
            enqueue(data, component)
            return
        if pace is not None and not pace.may_open():
            return
        try:
            payload = session.unprotect(data)
            setattr(transport, _RECEIVED_PACKETS, packets_received(transport) + 1)
            packet = RtpPacket.parse(payload, getattr(transport, _HEADER_EXTENSIONS))
        except (pylibsrtp.Error, ValueError, struct.error):  # aiortc unpacks header extensions whatever their length
            return
        if pace is None or pace.may_take():
            take(packet)

    setattr(connection, _DATA_RECEIVED, data_received)


def lose_late_data(peer: RTCPeerConnection) -> None:
    """Drop what the data channel still has to send when the connection closes. As shipped, each lost piece is the unhandled error
    of a task. Call it once both descriptions are set."""
    if peer.sctp is None:
        return
    transport = peer.sctp.transport
    send: Callable[[bytes], Awaitable[None]] = getattr(transport, _SEND_DATA)

    async def send_data(data: bytes) -> None:
        with suppress(ConnectionError):
            await send(data)

    setattr(transport, _SEND_DATA, send_data)


def transports(peer: RTCPeerConnection) -> set[RTCDtlsTransport]:
    """The transports that `peer` uses, once it knows the other side's description: one when everything is bundled."""
    used = {transceiver.receiver.transport for transceiver in peer.getTransceivers()}
    return used if peer.sctp is None else used | {peer.sctp.transport}


def ice_connection(transport: RTCDtlsTransport) -> aioice.ice.Connection:
    """The ICE connection below `transport`."""
    connection: aioice.ice.Connection = getattr(transport.transport, _ICE_CONNECTION)
    return connection


def guard_sockets(peer: RTCPeerConnection, make_gate: Callable[[], DatagramGate], ports: MediaPorts = ANY_PORT) -> None:
    """Put a gate of ours before each socket of `peer`, which knows the other side's description and has opened none, and have it
    open them by `ports`."""
    for transport in transports(peer):
        ice_hooks.guard(ice_connection(transport), make_gate())
        if ports is not ANY_PORT:
            ice_sockets.use(ice_connection(transport), ports)


def repeat_flights(peer: RTCPeerConnection, tasks: TaskOwner) -> None:
    """Send the lost handshake flights of `peer` again, as tasks of its owner. It must know the other side's description."""
    for transport in transports(peer):
        set_up_repeats.repeat_flights(transport, tasks)


def packets_received(transport: RTCDtlsTransport) -> int:
    """The number of packets of any kind (RTP, RTCP, data) that have come from the peer."""
    return int(getattr(transport, _RECEIVED_PACKETS))
