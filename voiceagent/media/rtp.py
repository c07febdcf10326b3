"""An RTP packet (RFC 3550 §5.1), read and written. Pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass

HEADER_BYTES = 12
VERSION = 2

_HEADER = struct.Struct("!BBHII")
_PADDING, _EXTENSION, _SOURCES, _MARKER = 0x20, 0x10, 0x0F, 0x80
_EXTENSION_HEADER_BYTES = 4
_ONE_BYTE_PROFILE = 0xBEDE


@dataclass(slots=True)
class RtpPacket:
    """A packet without its contributing sources and header extensions, which no receiver here needs."""

    payload_type: int = 0
    marker: int = 0
    sequence_number: int = 0
    timestamp: int = 0
    ssrc: int = 0
    payload: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> RtpPacket:
        """Raises ValueError for what is no RTP packet."""
        if len(data) < HEADER_BYTES:
            raise ValueError(f"an RTP packet has {len(data)} bytes; expected at least {HEADER_BYTES}")
        first, second, sequence_number, timestamp, ssrc = _HEADER.unpack_from(data)
        start, end = HEADER_BYTES + 4 * (first & _SOURCES), len(data)
        if first & _EXTENSION:
            start += _EXTENSION_HEADER_BYTES + 4 * int.from_bytes(data[start + 2 : start + 4])
        if first & _PADDING:
            end -= data[-1] or end
        if first >> 6 != VERSION or start > end:
            raise ValueError("an RTP packet is shorter than its header says, or of another version")
        return cls(second & 0x7F, second >> 7, sequence_number, timestamp, ssrc, data[start:end])


def header(packet: RtpPacket, extension: bytes = b"") -> bytes:
    """The bytes before the packet's payload. `extension`: see `named_extension`."""
    first = VERSION << 6 | _EXTENSION * bool(extension)
    second = packet.payload_type | _MARKER * bool(packet.marker)
    return _HEADER.pack(first, second, packet.sequence_number, packet.timestamp, packet.ssrc) + extension


def named_extension(number: int, name: str) -> bytes:
    """A header extension with one element, which names the packet's media section (RFC 8285 §4.2, RFC 9143 §15). Empty if it does
    not fit one."""
    value = name.encode()
    if not 0 < number < 15 or not 0 < len(value) <= 16:
        return b""
    element = bytes([number << 4 | len(value) - 1]) + value
    element += bytes(-len(element) % 4)
    return struct.pack("!HH", _ONE_BYTE_PROFILE, len(element) // 4) + element


def is_rtcp(data: bytes) -> bool:
    """True for RTCP among what shares RTP's port (RFC 5761 §4)."""
    return len(data) > 1 and 192 <= data[1] <= 223
