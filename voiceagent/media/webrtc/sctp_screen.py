"""Selects the SCTP packets of a data channel that are handed on, and computes the cost of each (RFC 9260, RFC 3758, RFC 6525).
Pure.

The peer holds the keys here, so only this screen protects aiortc's SCTP, which trusts the peer. A parameter of length 0 makes it
loop for ever, and a report of gaps lets it count to any number. Messages that never end, data far ahead of what is missing and an
unlimited number of streams make it keep everything and search it at each chunk."""

from __future__ import annotations

import enum
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

MAX_STREAMS = 16
"""Streams on which the peer sends: `oai-events` needs one."""
MAX_TSNS_AHEAD = 256
"""The furthest that data may be ahead of the missing data."""
MAX_WAITING_CHUNKS = 512
MAX_WAITING_BYTES = 393_216
"""Bytes of incomplete messages that may wait; we tell the peer so (a_rwnd). A message has at most 262,144
(a=max-message-size)."""
PACKET_COST_BYTES = 256
CHUNK_COST_BYTES = 128
"""The cost of handling a packet, or a chunk, in bytes of payload."""

_COMMON_HEADER_BYTES = 12
_CHUNK_HEADER = struct.Struct("!BBH")
_DATA, _INIT, _INIT_ACK, _SACK, _FORWARD_TSN = 0, 1, 2, 3, 192
_WITH_PARAMETERS = {_INIT: 20, _INIT_ACK: 20, 4: 4, 5: 4, 6: 4, 9: 4, 130: 4}
"""The place at which parameters start in INIT, INIT ACK, HEARTBEAT, HEARTBEAT ACK, ABORT, ERROR, RE-CONFIG."""
_SHORTEST = {_DATA: 17, _INIT: 20, _INIT_ACK: 20, _SACK: 16, 7: 8, _FORWARD_TSN: 8}
_HALF = 1 << 31


class SctpVerdict(enum.Enum):
    """The verdict on a packet."""

    TAKE = "take"
    MALFORMED = "malformed"
    EXCESS = "excess"
    """The packet counts as lost: a peer that keeps to the protocol sends it again when there is room."""
    ENDLESS = "endless"
    """More data waits than we said we take: the peer keeps to no limit."""


@dataclass(frozen=True, slots=True)
class Association:
    """The state of the association when a packet comes."""

    established: bool
    last_received_tsn: int | None
    """Everything up to this TSN has come; None before the association is set up."""
    misordered: int
    """The number of chunks that came ahead of missing ones."""
    next_tsn: int
    """The TSN of our next chunk."""
    last_sacked_tsn: int
    """The peer has our chunks up to this TSN."""
    waiting_chunks: int
    waiting_bytes: int
    """Bytes of incomplete messages."""
    streams: Collection[int] = field(default_factory=frozenset)
    """The streams on which the peer has sent."""


def chunks_of(packet: bytes) -> list[tuple[int, bytes]]:
    """Each chunk's type and all its bytes. Raises ValueError when the packet is not made of chunks."""
    chunks = []
    position = _COMMON_HEADER_BYTES
    while position < len(packet):
        if len(packet) - position < _CHUNK_HEADER.size:
            raise ValueError("a chunk is cut short")
        kind, _, length = _CHUNK_HEADER.unpack_from(packet, position)
        if length < _CHUNK_HEADER.size or position + length > len(packet):
            raise ValueError(f"a chunk says it has {length} bytes")
        chunks.append((kind, packet[position : position + length]))
        position += length + -length % 4
    if not chunks:
        raise ValueError("a packet without chunks")
    return chunks


def cost_bytes(packet: bytes, chunks: int) -> int:
    """The cost of handling `packet`."""
    return len(packet) + PACKET_COST_BYTES + chunks * CHUNK_COST_BYTES


def judge(chunks: list[tuple[int, bytes]], association: Association) -> SctpVerdict:
    """Returns the verdict on the packet that holds `chunks`."""
    if any(not _is_well_formed(kind, chunk) for kind, chunk in chunks):
        return SctpVerdict.MALFORMED
    kinds = {kind for kind, _ in chunks}
    if _INIT in kinds and (len(chunks) > 1 or association.established):
        return SctpVerdict.MALFORMED
    if any(kind == _SACK and not _is_possible_sack(chunk, association) for kind, chunk in chunks):
        return SctpVerdict.MALFORMED
    if kinds & {_DATA, _FORWARD_TSN} and association.last_received_tsn is None:
        return SctpVerdict.MALFORMED
    return _judge_data(chunks, association)


def acknowledges(chunks: list[tuple[int, bytes]], association: Association) -> bool:
    """True when the packet, which was judged, is only a SACK of chunks that were not acknowledged before. There can be no more
    of these than chunks that we sent."""
    (kind, chunk), *others = chunks
    return kind == _SACK and not others and 0 < (_uint32(chunk, 4) - association.last_sacked_tsn) % (1 << 32) < _HALF


def _judge_data(chunks: list[tuple[int, bytes]], association: Association) -> SctpVerdict:
    data = [chunk for kind, chunk in chunks if kind == _DATA]
    distances = [_ahead(chunk, association) for chunk in data]
    used = max(
        (association.waiting_bytes + sum(len(chunk) - 16 for chunk in data)) / MAX_WAITING_BYTES,
        (association.waiting_chunks + len(data)) / MAX_WAITING_CHUNKS,
    )
    # A message is shorter than what may wait. So if nothing is missing, the message has no end; if something is missing, its end
    # may still come.
    if data and (used > 2.0 or (used > 1.0 and not association.misordered)):
        return SctpVerdict.ENDLESS
    if data and 1 not in distances and (used > 1.0 or association.misordered > MAX_TSNS_AHEAD):
        return SctpVerdict.EXCESS
    streams = {struct.unpack_from("!H", chunk, 8)[0] for chunk in data}
    streams.update(stream for kind, chunk in chunks if kind == _FORWARD_TSN for stream in _skipped_streams(chunk))
    known = set(association.streams)
    if max(distances, default=0) > MAX_TSNS_AHEAD or (streams - known and len(streams | known) > MAX_STREAMS):
        return SctpVerdict.EXCESS
    return SctpVerdict.TAKE


def _ahead(chunk: bytes, association: Association) -> int:
    """The distance of a DATA chunk ahead of the received data; 0 for one that has come before."""
    distance = (_uint32(chunk, 4) - (association.last_received_tsn or 0)) % (1 << 32)
    return distance if distance < _HALF else 0


def _is_well_formed(kind: int, chunk: bytes) -> bool:
    if len(chunk) < _SHORTEST.get(kind, _CHUNK_HEADER.size):
        return False
    if kind == _FORWARD_TSN:
        return len(chunk) % 4 == 0 and len(chunk) <= 8 + 4 * MAX_STREAMS
    start = _WITH_PARAMETERS.get(kind)
    return start is None or _are_parameters(chunk, start)


def _are_parameters(chunk: bytes, position: int) -> bool:
    """True when the rest of `chunk` is made of parameters (RFC 9260 §3.2.1)."""
    while len(chunk) - position >= 4:
        (length,) = struct.unpack_from("!H", chunk, position + 2)
        if length < 4 or position + length > len(chunk):
            return False
        position += length + -length % 4
    return True


def _is_possible_sack(chunk: bytes, association: Association) -> bool:
    """True when a SACK acknowledges only what we sent, each chunk once (RFC 9260 §3.3.4). An outdated SACK may have any
    content."""
    gaps, duplicates = struct.unpack_from("!HH", chunk, 12)
    if len(chunk) != 16 + 4 * (gaps + duplicates):
        return False
    acknowledged = _uint32(chunk, 4)
    if 0 < (association.last_sacked_tsn - acknowledged) % (1 << 32) < _HALF:
        return True
    outstanding = (association.next_tsn - 1 - acknowledged) % (1 << 32)
    last = 0
    for start, end in struct.iter_unpack("!HH", chunk[16 : 16 + 4 * gaps]):
        if not last < start <= end <= outstanding:
            return False
        last = end
    return outstanding < _HALF


def _skipped_streams(chunk: bytes) -> Iterator[int]:
    return (stream for stream, _ in struct.iter_unpack("!HH", chunk[8:]))


def _uint32(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "big")
