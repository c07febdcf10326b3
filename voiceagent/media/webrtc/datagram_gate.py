"""Selects the datagrams that a WebRTC connection reads, and limits what it sends to addresses that perhaps never asked for it.
Pure.

Datagrams come in with their source. If no ICE connectivity check has vouched for that address, they are refused, except STUN,
which brings its own proof. Whatever goes to an address that has not answered a check is paid from a budget of three times the
offer's size, as QUIC limits it before an address is validated (RFC 9000 §8.1)."""

from __future__ import annotations

import enum
import struct
from collections.abc import Container
from dataclasses import dataclass

Address = tuple[str, int]

MAX_DATAGRAM_BYTES = 2048
"""No peer sends more in one piece: paths carry 1,500 bytes."""
MAX_STUN_BYTES = 1500
MAX_ADDRESSES = 16
"""Addresses of the peer that are known at a time: one for each of its interfaces, and for networks that it changes to."""
AMPLIFICATION = 3

_STUN_HEADER = struct.Struct("!HHI")
_STUN_HEADER_BYTES = 20
_STUN_COOKIE = 0x2112A442


class DatagramKind(enum.Enum):
    """The kind of a datagram by its first byte (RFC 7983 §7)."""

    STUN = "stun"
    DTLS = "dtls"
    RTP = "rtp"
    """RTP or RTCP."""
    OTHER = "other"
    """Empty, longer than a path carries, or of a protocol that we do not speak."""


def classify(data: bytes) -> DatagramKind:
    """The kind that `data` claims to be."""
    if not data or len(data) > MAX_DATAGRAM_BYTES:
        return DatagramKind.OTHER
    first = data[0]
    if 127 < first < 192:
        return DatagramKind.RTP
    if 19 < first < 64:
        return DatagramKind.DTLS
    return DatagramKind.STUN if first < 4 else DatagramKind.OTHER


def is_stun(data: bytes) -> bool:
    """True when `data` has the header of a STUN message of its length (RFC 8489 §5)."""
    if not _STUN_HEADER_BYTES <= len(data) <= MAX_STUN_BYTES or len(data) % 4:
        return False
    _, length, cookie = _STUN_HEADER.unpack_from(data)
    return bool(cookie == _STUN_COOKIE and length == len(data) - _STUN_HEADER_BYTES)


class Budget:
    """The bytes that may be sent to addresses that have not answered yet: three times the offer, plus as much as came from the
    peer in checks that it signed. Addresses from which nothing has come get a third of it at most. The rest is kept for addresses
    from which the peer has called, so that useless addresses in the offer do not use it up."""

    def __init__(self, offer_bytes: int) -> None:
        self.sent_bytes = 0
        self._silent_bytes = 0
        self._received_bytes = 0
        self._offer_bytes = offer_bytes

    def received(self, size: int) -> None:
        """A signed check of `size` bytes came."""
        self._received_bytes += size

    def take(self, size: int, *, is_silent: bool) -> bool:
        """Spends `size` bytes on an address that has not answered; false when too few are left. `is_silent`: nothing has come
        from it either."""
        if is_silent and self._silent_bytes + size > self._offer_bytes:
            return False
        if self.sent_bytes + size > AMPLIFICATION * self._offer_bytes + self._received_bytes:
            return False
        self.sent_bytes += size
        if is_silent:
            self._silent_bytes += size
        return True


@dataclass(slots=True)
class GateCounters:
    """Counts datagrams that no one asked for, and those that would have gone where no one answers."""

    foreign: int = 0
    """Refused unread: empty, of no known protocol, or of an address without a check."""
    stun_malformed: int = 0
    stun_unauthenticated: int = 0
    """Requests without the call's password."""
    stun_excess: int = 0
    """Signed requests beyond the rate that any peer needs."""
    unsent: int = 0
    """STUN messages that the budget did not allow."""


class DatagramGate:
    """The gate of one ICE connection. Without a `budget` (we made the offer, and chose whom to call) sending is free."""

    def __init__(self, budget: Budget | None = None, counters: GateCounters | None = None) -> None:
        self.counters = counters or GateCounters()
        self._budget = budget
        self._answered: dict[Address, bool] = {}
        """The known addresses, the one longest not heard of first, each with whether it answered a check of ours."""

    def knows(self, source: Address) -> bool:
        """True when a check has vouched for `source`: the peer's own, which proves that it holds the call's password, or one of
        ours."""
        return source in self._answered

    def expects(self, source: Address) -> bool:
        """True when someone is likely to be at `source`: the peer has called from there, or we chose the address."""
        return self._budget is None or source in self._answered

    def check_received(self, source: Address, size: int, in_use: Container[Address] = ()) -> Address | None:
        """A signed check came from `source`. This proves that it is the peer, but not that the peer is there (a source can be
        forged). Returns the address that is forgotten in its place, if any: never one `in_use`."""
        if self._budget is not None:
            self._budget.received(size)
        return self._remember(source, self._answered.get(source, False), in_use)

    def check_answered(self, source: Address, in_use: Container[Address] = ()) -> Address | None:
        """A check of ours that went to `source` was answered from there. Returns the same as `check_received`."""
        return self._remember(source, True, in_use)

    def may_send(self, to: Address, size: int) -> bool:
        """Returns true when `size` bytes may be sent to `to`. The budget pays for them until that address has answered."""
        answered = self._answered.get(to)
        if answered or self._budget is None or self._budget.take(size, is_silent=answered is None):
            return True
        self.counters.unsent += 1
        return False

    def _remember(self, source: Address, answered: bool, in_use: Container[Address]) -> Address | None:
        self._answered.pop(source, None)
        self._answered[source] = answered
        if len(self._answered) <= MAX_ADDRESSES:
            return None
        oldest = next((address for address in self._answered if address not in in_use and address != source), None)
        if oldest is not None:
            del self._answered[oldest]
        return oldest
