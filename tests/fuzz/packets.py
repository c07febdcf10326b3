"""What makes a mutated packet pass the checks that stand before its contents: lengths, checksums, keys."""

from __future__ import annotations

import struct

from aioice import stun
from google_crc32c import value as crc32c

STUN_HEADER_BYTES = 20
SCTP_HEADER_BYTES = 12


def with_stun_length(data: bytes) -> bytes:
    """The header's length and magic cookie are right (RFC 8489 §5)."""
    if len(data) < STUN_HEADER_BYTES:
        return data
    data = data[: len(data) - len(data) % 4]
    return data[:2] + struct.pack("!HI", len(data) - STUN_HEADER_BYTES & 0xFFFF, stun.COOKIE) + data[8:]


def with_stun_proof(data: bytes, password: str) -> bytes:
    """MESSAGE-INTEGRITY and FINGERPRINT at the end are those of the rest (RFC 8489 §14.5, §14.7)."""
    body = with_stun_length(data)
    if len(body) < STUN_HEADER_BYTES:
        return data
    body += struct.pack("!HH", 0x0008, 20) + stun.message_integrity(body, password.encode())
    body = stun.set_body_length(body, len(body) - STUN_HEADER_BYTES + 8)
    return body + struct.pack("!HHI", 0x8028, 4, stun.message_fingerprint(body))


def with_sctp_header(data: bytes, verification_tag: int) -> bytes:
    """The verification tag and the checksum are right (RFC 9260 §3.1); an INIT's tag is 0."""
    if len(data) < SCTP_HEADER_BYTES:
        return data
    tag = 0 if len(data) > SCTP_HEADER_BYTES and data[SCTP_HEADER_BYTES] == 1 else verification_tag
    data = data[:4] + struct.pack("!L", tag) + bytes(4) + data[SCTP_HEADER_BYTES:]
    return data[:8] + struct.pack("<L", crc32c(data)) + data[SCTP_HEADER_BYTES:]


def with_rtcp_lengths(data: bytes) -> bytes:
    """One packet, of version 2, that says how long it is (RFC 3550 §6.4.1)."""
    data = data[: len(data) - len(data) % 4]
    if len(data) < 8:
        return data
    return bytes([data[0] & 0x3F | 0x80, data[1]]) + struct.pack("!H", len(data) // 4 - 1 & 0xFFFF) + data[4:]


def with_rtp_version(data: bytes) -> bytes:
    """Of version 2 (RFC 3550 §5.1), which SRTP asks for."""
    return bytes([data[0] & 0x3F | 0x80]) + data[1:] if data else data
