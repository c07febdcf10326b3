"""Keys in place of audio, on their way out. Reaches behind aiortc's interface, which sends one payload type: a packet that is
about to be encrypted becomes one of a key, with its sequence number, so that the stream has no gap."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from aiortc import RTCRtpSender
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtp import is_rtcp

from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.telephone.telephone_events import KeyPacket, KeyWriter

_SEND_RTP = "_send_rtp"
_MARKER = 0x80
_HEADER_BYTES = 12


def moved() -> list[str]:
    """Names of what this hook expects and the installed aiortc keeps elsewhere."""
    found = getattr(RTCDtlsTransport, _SEND_RTP, None)
    if found is None or list(inspect.signature(found).parameters) != ["self", "data"]:
        return [f"RTCDtlsTransport.{_SEND_RTP} moved"]
    return []


def send_keys(sender: RTCRtpSender, writer: KeyWriter, keys_type: Callable[[], int | None]) -> None:
    """Have the keys of `writer` sent with the payload type that was settled by then. The marker, which aiortc sets in each
    packet, is set where speech begins alone (RFC 3551 §4.1): gateways start anew with it."""
    send: Callable[[bytes], Awaitable[None]] = getattr(sender.transport, _SEND_RTP)
    has_begun = False

    async def send_rtp(data: bytes) -> None:
        nonlocal has_begun
        if not is_rtcp(data):
            own_type = keys_type()
            key = writer.next() if own_type is not None else None
            data = _key(data, key, own_type) if key is not None and own_type is not None else _speech(data, not has_begun)
            has_begun = True
        await send(data)

    setattr(sender.transport, _SEND_RTP, send_rtp)


def _speech(data: bytes, is_first: bool) -> bytes:
    return bytes((data[0], data[1] & 0x7F | _MARKER * is_first)) + data[2:]


def _key(data: bytes, key: KeyPacket, keys_type: int) -> bytes:
    """An audio packet of RTP (RFC 3550 §5.1) as a key's."""
    header = _HEADER_BYTES + 4 * (data[0] & 0x0F)
    if data[0] & 0x10:
        header += 4 + 4 * int.from_bytes(data[header + 2 : header + 4])
    timestamp = int.from_bytes(data[4:8]) - key.frames_ago * PHONE_FRAME_SAMPLES & 0xFFFF_FFFF
    second = keys_type | _MARKER * key.is_first
    return bytes((data[0] & ~0x20, second)) + data[2:4] + timestamp.to_bytes(4) + data[8:header] + key.payload
