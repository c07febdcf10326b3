"""Keeps invalid datagrams of DTLS 1.2 from the handshake: their records are discarded, and the association stays (RFC 6347
§4.1.2.7). Pure.

OpenSSL does this for encrypted records. The first records are not encrypted, so anyone can have made them. For these, OpenSSL
gives the connection up after an alert, or after a message that only the other side sends. This screen keeps them from OpenSSL. A
peer that gives up for good is noticed because it stays silent."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_RECORD = struct.Struct("!BHH6sH")
"""Content type, version, epoch, sequence number, length of the fragment (RFC 6347 §4.1)."""
_MAJOR_VERSION = 0xFE
_CHANGE_CIPHER_SPEC, _ALERT, _HANDSHAKE, _APPLICATION_DATA = 20, 21, 22, 23
_HANDSHAKE_HEADER_BYTES = 12

FROM_SERVER = frozenset({0, 2, 3, 4, 11, 12, 13, 14, 22})
"""hello_request, server_hello, hello_verify_request, new_session_ticket, certificate, server_key_exchange, certificate_request,
server_hello_done, certificate_status."""
FROM_CLIENT = frozenset({1, 11, 15, 16})
"""client_hello, certificate, certificate_verify, client_key_exchange."""


def passes(data: bytes, expected: frozenset[int]) -> bool:
    """True when each record of `data` is well-formed, and each unencrypted one (epoch 0) is one that the handshake can need.
    `expected` are the types of handshake messages that the peer's side sends in clear."""
    try:
        return all(_is_wanted(data, start, end, expected) for start, end in _records(data))
    except ValueError:
        return False


def _records(data: bytes) -> Iterator[tuple[int, int]]:
    """The start and the end of each record. Raises ValueError when `data` is not made of records."""
    position = 0
    while position < len(data):
        if len(data) - position < _RECORD.size:
            raise ValueError("a record is cut short")
        kind, version, _, _, length = _RECORD.unpack_from(data, position)
        end = position + _RECORD.size + length
        if (
            not _CHANGE_CIPHER_SPEC <= kind <= _APPLICATION_DATA
            or version >> 8 != _MAJOR_VERSION
            or not length
            or end > len(data)
        ):
            raise ValueError("no record of DTLS 1.2")
        yield position, end
        position = end


def _is_wanted(data: bytes, start: int, end: int, expected: frozenset[int]) -> bool:
    kind, _, epoch, _, length = _RECORD.unpack_from(data, start)
    if epoch:
        return True
    body = start + _RECORD.size
    if kind == _CHANGE_CIPHER_SPEC:
        return data[body:end] == b"\x01"
    return bool(kind == _HANDSHAKE and length >= _HANDSHAKE_HEADER_BYTES and _is_message(data[body:end], expected))


def _is_message(body: bytes, expected: frozenset[int]) -> bool:
    """True when all handshake messages in a record are of `expected` types and fragments within their length (RFC 6347
    §4.2.2)."""
    position = 0
    while position < len(body):
        if len(body) - position < _HANDSHAKE_HEADER_BYTES:
            return False
        length = int.from_bytes(body[position + 1 : position + 4], "big")
        offset = int.from_bytes(body[position + 6 : position + 9], "big")
        size = int.from_bytes(body[position + 9 : position + 12], "big")
        if body[position] not in expected or offset + size > length:
            return False
        position += _HANDSHAKE_HEADER_BYTES + size
    return position == len(body)
