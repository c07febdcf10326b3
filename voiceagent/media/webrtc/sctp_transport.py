"""aiortc's SCTP behind `sctp_screen`. As shipped, it does whatever the peer's packets say."""

from __future__ import annotations

import logging

from aiortc import RTCSctpTransport
from aiortc.rtcdtlstransport import RTCDtlsTransport
from typing_extensions import override

from voiceagent.media.webrtc import sctp_screen
from voiceagent.media.webrtc.sctp_screen import MAX_WAITING_BYTES, Association, SctpVerdict
from voiceagent.media.webrtc.transport_guard import TransportGuard

log = logging.getLogger(__name__)


class ScreenedSctp(RTCSctpTransport):
    """The data channels of one peer."""

    def __init__(self, transport: RTCDtlsTransport, guard: TransportGuard) -> None:
        super().__init__(transport)
        self._guard = guard
        self._advertised_rwnd = MAX_WAITING_BYTES

    @override
    async def _handle_data(self, data: bytes) -> None:
        guard = self._guard
        try:
            chunks = sctp_screen.chunks_of(data)
        except ValueError:
            guard.refuse_malformed()
            return
        association = self._association()
        verdict = sctp_screen.judge(chunks, association)
        if verdict is SctpVerdict.MALFORMED:
            guard.refuse_malformed()
        elif verdict is SctpVerdict.ENDLESS:
            guard.give_up()
        # What acknowledges our data costs a client nothing: else one that sends too much could not even be told so.
        elif sctp_screen.acknowledges(chunks, association) or guard.admit(sctp_screen.cost_bytes(data, len(chunks))):
            if verdict is SctpVerdict.EXCESS:
                guard.refuse(len(data))
            else:
                await self._survive(data)

    async def _survive(self, data: bytes) -> None:
        """A packet that makes aiortc raise is lost; the connection stays."""
        try:
            await super()._handle_data(data)
        except ConnectionError:
            raise
        except Exception:
            log.debug("a peer's packet cannot be handled", exc_info=True)
            self._guard.refuse_malformed()

    def _association(self) -> Association:
        streams = self._inbound_streams
        return Association(
            established=self.state == "connected",
            last_received_tsn=self._last_received_tsn,
            misordered=len(self._sack_misordered),
            next_tsn=self._local_tsn,
            last_sacked_tsn=self._last_sacked_tsn,
            waiting_chunks=sum(len(stream.reassembly) for stream in streams.values()),
            waiting_bytes=MAX_WAITING_BYTES - self._advertised_rwnd,
            streams=streams.keys(),
        )
