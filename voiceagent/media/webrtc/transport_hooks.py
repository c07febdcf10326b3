"""Limits what a peer that holds the call's keys, or forges its address, may do to aiortc's DTLS, RTCP and SCTP, which as shipped
trust it. This reaches behind aiortc's interface: `moved` says what a release has moved."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aioice.ice
import aiortc.rtcrtpsender
import aiortc.rtcsctptransport
from aiortc import RTCIceTransport, RTCRtpSender, RTCSctpTransport
from aiortc.rtcdtlstransport import RTCDtlsTransport
from OpenSSL import SSL

from voiceagent.media.webrtc import dtls_screen, sctp_screen
from voiceagent.media.webrtc.sctp_screen import MAX_WAITING_BYTES, PACKET_COST_BYTES, Association, SctpVerdict
from voiceagent.token_bucket import Meter, TokenBucket

WORK_BYTES_PER_S = 262_144
WORK_BURST_BYTES = 1_048_576
"""The allowed cost of the data channel and RTCP of one peer, in bytes: a session of 100 KB at once, then events 200 times a
second."""
PATIENCE_BYTES_PER_S = 65_536
PATIENCE_BURST_BYTES = 524_288
"""The refused cost at which the peer is given up, in bytes."""
MALFORMED_COST_BYTES = 16_384
MAX_QUEUED = 256
"""The number of datagrams that may wait to be read, as they do before the handshake."""

_ICE_CONNECTION = "_connection"
_QUEUE = "_queue"
_DATA_RECEIVED = "data_received"
_ROLE = "_role"
_SSL = "_ssl"
_HANDLE_RTCP = "_handle_rtcp_data"
_HANDLE_DATA = "_handle_data"
_RETRANSMIT = "_retransmit"
_ESTABLISHED = "ESTABLISHED"
_SCTP_FIELDS = (
    "_advertised_rwnd",
    "_inbound_streams",
    "_last_received_tsn",
    "_last_sacked_tsn",
    "_local_tsn",
    "_sack_misordered",
    "_association_state",
)

log = logging.getLogger(__name__)


def moved() -> list[str]:
    """Lists the parts of the installed aiortc and aioice that are elsewhere than these hooks expect."""
    problems = []
    for owner, name, parameters in (
        (RTCDtlsTransport, _HANDLE_RTCP, ["self", "data"]),
        (RTCSctpTransport, _HANDLE_DATA, ["self", "data"]),
        (RTCRtpSender, _RETRANSMIT, ["self", "sequence_number"]),
        (aioice.ice.Connection, _DATA_RECEIVED, ["self", "data", "component"]),
    ):
        found = getattr(owner, name, None)
        if found is None or list(inspect.signature(found).parameters) != parameters:
            problems.append(f"{owner.__name__}.{name} moved")
    if not set(_SCTP_FIELDS) <= set(RTCSctpTransport.__init__.__code__.co_names):
        problems.append("RTCSctpTransport keeps its association elsewhere")
    if "reassembly" not in aiortc.rtcsctptransport.InboundStream.__init__.__code__.co_names:
        problems.append("RTCSctpTransport keeps what it puts together elsewhere")
    if not hasattr(RTCSctpTransport.State, _ESTABLISHED):
        problems.append("RTCSctpTransport names its states otherwise")
    if not {_ROLE, _SSL} <= set(RTCDtlsTransport.__init__.__code__.co_names):
        problems.append("RTCDtlsTransport keeps its role and OpenSSL's object elsewhere")
    if _ICE_CONNECTION not in RTCIceTransport.__init__.__code__.co_names:
        problems.append("RTCIceTransport keeps its connection elsewhere")
    if _QUEUE not in aioice.ice.Connection.__init__.__code__.co_names:
        problems.append("aioice's Connection keeps what it received elsewhere")
    return problems


def was_closed_by_peer(transport: RTCDtlsTransport) -> bool:
    """True when the peer closed `transport` by an alert (RFC 5246 §7.2.1). Otherwise the path was lost."""
    connection: SSL.Connection | None = getattr(transport, _SSL)
    return connection is not None and bool(connection.get_shutdown() & SSL.RECEIVED_SHUTDOWN)


class TransportGuard:
    """The guard of one peer connection. `on_abuse` is called once, from within the transport, when the peer goes on after
    refusals."""

    def __init__(self, on_abuse: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.dtls_refused = 0
        """Records that the handshake cannot need."""
        self.overflowed = 0
        """Datagrams that came faster than they were read."""
        self.malformed = 0
        """RTCP and SCTP packets that cannot be read."""
        self._on_abuse = on_abuse
        self._clock = clock
        self._told = False
        self._unproved = TokenBucket(2 * WORK_BYTES_PER_S, 2 * WORK_BURST_BYTES)
        self._meter = Meter(
            TokenBucket(WORK_BYTES_PER_S, WORK_BURST_BYTES), TokenBucket(PATIENCE_BYTES_PER_S, PATIENCE_BURST_BYTES)
        )

    @property
    def refused(self) -> int:
        """Packets that were too much work, or that exceeded what may wait here for the rest of a message."""
        return self._meter.refusals

    def guard_transport(self, transport: RTCDtlsTransport) -> None:
        """Check packets before `transport`'s queue, and before its RTCP."""
        connection = getattr(transport.transport, _ICE_CONNECTION)
        enqueue: Callable[[bytes, int], None] = getattr(connection, _DATA_RECEIVED)
        handle_rtcp: Callable[[bytes], Awaitable[None]] = getattr(transport, _HANDLE_RTCP)
        queue = getattr(connection, _QUEUE)

        def data_received(data: bytes, component: int) -> None:
            if 19 < data[0] < 64:
                expected = dtls_screen.FROM_CLIENT if getattr(transport, _ROLE) == "server" else dtls_screen.FROM_SERVER
                if not dtls_screen.passes(data, expected):
                    self.dtls_refused += 1
                    return
            # Nothing is proved yet: packets with the peer's forged address must not count as the peer's abuse.
            cost_bytes = len(data) + PACKET_COST_BYTES
            if queue.qsize() >= MAX_QUEUED or (transport.encrypted and not self._unproved.take(cost_bytes, self._clock())):
                self.overflowed += 1
            else:
                enqueue(data, component)

        async def handle_rtcp_data(data: bytes) -> None:
            if self._admit(len(data) + PACKET_COST_BYTES):
                await self._survive(handle_rtcp, data)

        setattr(connection, _DATA_RECEIVED, data_received)
        setattr(transport, _HANDLE_RTCP, handle_rtcp_data)

    def guard_sctp(self, sctp: RTCSctpTransport) -> None:
        """Check packets before the data channels of `sctp`, whose association has not begun."""
        sctp._advertised_rwnd = MAX_WAITING_BYTES
        handle: Callable[[bytes], Awaitable[None]] = getattr(sctp, _HANDLE_DATA)

        async def handle_data(data: bytes) -> None:
            try:
                chunks = sctp_screen.chunks_of(data)
            except ValueError:
                self._refuse_malformed()
                return
            verdict = sctp_screen.judge(chunks, _association(sctp))
            if verdict is SctpVerdict.MALFORMED:
                self._refuse_malformed()
            elif verdict is SctpVerdict.ENDLESS:
                self._give_up()
            elif self._admit(sctp_screen.cost_bytes(data, len(chunks))):
                if verdict is SctpVerdict.EXCESS:
                    self._refuse(len(data))
                else:
                    await self._survive(handle, data)

        setattr(sctp, _HANDLE_DATA, handle_data)

    async def _survive(self, handle: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
        """A packet that makes aiortc raise is lost; the connection stays."""
        try:
            await handle(data)
        except ConnectionError:
            raise
        except Exception:
            log.debug("a peer's packet cannot be handled", exc_info=True)
            self._refuse_malformed()

    def _admit(self, cost_bytes: float) -> bool:
        if self._meter.admit(cost_bytes, self._clock()):
            return True
        self._tell()
        return False

    def _refuse(self, cost_bytes: float) -> None:
        self._meter.refuse(cost_bytes, self._clock())
        self._tell()

    def _refuse_malformed(self) -> None:
        self.malformed += 1
        self._refuse(MALFORMED_COST_BYTES)

    def _give_up(self) -> None:
        self._meter.give_up()
        self._tell()

    def _tell(self) -> None:
        if self._meter.exhausted and not self._told:
            self._told = True
            self._on_abuse()


def ignore_retransmission_requests(sender: RTCRtpSender) -> None:
    """Each generic NACK (RFC 4585 §6.2.1) can ask for thousands of packets again; for audio we offer none."""

    async def retransmit(sequence_number: int) -> None:
        pass

    setattr(sender, _RETRANSMIT, retransmit)


def _association(sctp: RTCSctpTransport) -> Association:
    # aiortc's private fields, which no type tells; the hooks' self-test looks whether they are there
    fields: dict[str, Any] = {name: getattr(sctp, name) for name in _SCTP_FIELDS}
    streams = fields["_inbound_streams"]
    return Association(
        established=fields["_association_state"] is getattr(RTCSctpTransport.State, _ESTABLISHED),
        last_received_tsn=fields["_last_received_tsn"],
        misordered=len(fields["_sack_misordered"]),
        next_tsn=fields["_local_tsn"],
        last_sacked_tsn=fields["_last_sacked_tsn"],
        waiting_chunks=sum(len(stream.reassembly) for stream in streams.values()),
        waiting_bytes=MAX_WAITING_BYTES - fields["_advertised_rwnd"],
        streams=streams.keys(),
    )
