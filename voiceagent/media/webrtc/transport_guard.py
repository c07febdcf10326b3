"""Limits the work that a peer may cause which holds the call's keys, or forges its address: aiortc's DTLS and SCTP trust it."""

from __future__ import annotations

import time
from collections.abc import Callable

from voiceagent.media.webrtc import dtls_screen
from voiceagent.media.webrtc.sctp_screen import PACKET_COST_BYTES
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


class TransportGuard:
    """The guard of one peer. `on_abuse` is called once, from within the transport, when the peer goes on after refusals."""

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

    def passes(self, records: bytes, expected: frozenset[int]) -> bool:
        """True when the handshake can need these DTLS records; `expected`: see `dtls_screen.passes`."""
        if dtls_screen.passes(records, expected):
            return True
        self.dtls_refused += 1
        return False

    def may_queue(self, size: int, waiting: int, *, is_encrypted: bool) -> bool:
        """True when a datagram may wait behind `waiting` others. Nothing is proved yet: datagrams with the peer's forged address
        must not count as the peer's abuse. After the handshake their rate is limited, too."""
        is_too_much = is_encrypted and not self._unproved.take(size + PACKET_COST_BYTES, self._clock())
        if waiting >= MAX_QUEUED or is_too_much:
            self.overflowed += 1
            return False
        return True

    def admit(self, cost_bytes: float) -> bool:
        """True when the peer may cause so much work now."""
        if self._meter.admit(cost_bytes, self._clock()):
            return True
        self._tell()
        return False

    def refuse(self, cost_bytes: float) -> None:
        """Count what was refused for another reason."""
        self._meter.refuse(cost_bytes, self._clock())
        self._tell()

    def refuse_malformed(self) -> None:
        """Count a packet that cannot be read."""
        self.malformed += 1
        self.refuse(MALFORMED_COST_BYTES)

    def give_up(self) -> None:
        """The peer keeps to no limit."""
        self._meter.give_up()
        self._tell()

    def _tell(self) -> None:
        if self._meter.exhausted and not self._told:
            self._told = True
            self._on_abuse()
