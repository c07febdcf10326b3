"""Asterisk's AudioSocket: frames of a type, a length and a payload, over TCP. Asterisk plays audio as it comes, so we send it at
the pace of the clock. Asterisk does not report what it played and cannot drop it, so we send little ahead."""

from __future__ import annotations

import struct
import uuid
from enum import IntEnum

from typing_extensions import override

from voiceagent.errors import MediaError
from voiceagent.telephone.messages import Audio, AudioFormat, Encoding, Message, Other, Stopped
from voiceagent.telephone.streams.json_stream import digit
from voiceagent.telephone.streams.stream import Stream

HEAD_BYTES = 3
MAX_PAYLOAD_BYTES = 8_192
"""A quarter of a second at 16 kHz; Asterisk sends 20 ms."""


class FrameKind(IntEnum):
    """A frame's type."""

    HANGUP = 0x00
    UUID = 0x01
    DTMF = 0x03
    AUDIO_8K = 0x10
    AUDIO_16K = 0x12
    AUDIO_24K = 0x13
    ERROR = 0xFF


HUNG_UP = 0x01
PROBLEMS = {0x02: "a frame could not be forwarded", 0x04: "it is out of memory"}
"""The codes of an error frame."""
RATES_HZ: dict[int, int] = {FrameKind.AUDIO_8K: 8_000, FrameKind.AUDIO_16K: 16_000, FrameKind.AUDIO_24K: 24_000}


def head(data: bytes) -> tuple[int, int]:
    """The type and the payload's length of a frame's first three bytes. Raises MediaError for one that is too long."""
    kind, length = struct.unpack(">BH", data)
    if length > MAX_PAYLOAD_BYTES:
        raise MediaError(f"a frame of {length} bytes; expected at most {MAX_PAYLOAD_BYTES}")
    return kind, length


def frame(kind: FrameKind, payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    return struct.pack(">BH", kind, len(payload)) + payload


def problem(payload: bytes) -> str:
    """The text of an error frame. Empty if the caller hung up, which is one of its codes."""
    code = payload[0] if payload else 0
    return "" if code == HUNG_UP else PROBLEMS.get(code, f"an error of code 0x{code:02x}")


def call_id(payload: bytes) -> str:
    """The id that the dialplan gave the call. Raises MediaError if it is no UUID."""
    if len(payload) != 16:
        raise MediaError(f"an id of {len(payload)} bytes; expected a UUID of 16")
    return str(uuid.UUID(bytes=payload))


def audio_format(kind: int) -> AudioFormat:
    """The format of an audio frame. Raises MediaError for an unknown type."""
    rate_hz = RATES_HZ.get(kind)
    if rate_hz is None:
        raise MediaError(f"a frame of type 0x{kind:02x}; expected audio of 8, 16 or 24 kHz (0x10, 0x12, 0x13)")
    return AudioFormat(Encoding.L16, rate_hz)


class AudioSocketStream(Stream):
    """One call's frames, whole. AudioSocket has no marks, and cannot drop what was sent. Pure."""

    def __init__(self, kind: FrameKind) -> None:
        """`kind` is the type of audio frames in both directions."""
        self._kind = kind

    @override
    def read(self, message: str | bytes) -> Message:
        assert isinstance(message, bytes)
        kind, payload = message[0], message[HEAD_BYTES:]
        if kind == self._kind:
            return Audio(payload, None)
        if kind == FrameKind.DTMF:
            return digit(payload.decode("ascii", errors="replace"))
        if kind == FrameKind.HANGUP:
            return Stopped()
        if kind == FrameKind.ERROR:
            return Stopped(problem(payload))
        if kind in RATES_HZ:
            raise MediaError(f"a frame of type 0x{kind:02x} in a call of 0x{self._kind:02x}; expected one rate for all of it")
        return Other()

    @override
    def audio(self, payload: bytes) -> str | bytes:
        return frame(self._kind, payload)
