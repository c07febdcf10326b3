"""Asterisk's `chan_websocket` (docs.asterisk.org, Configuration/Channel-Drivers/WebSocket). Audio comes as binary messages in the
channel's own code. Everything else is lines of text, or JSON from 20.18, 22.8 and 23.2 on. Asterisk buffers what it is sent, cuts
it into frames and paces them. It reports when a buffered transfer has gone out, and that serves as a mark."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from typing_extensions import override

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.telephone.messages import (
    Audio,
    AudioFormat,
    CallFacts,
    Encoding,
    Flow,
    MarkReached,
    Message,
    Other,
    Started,
    Stopped,
)
from voiceagent.telephone.streams.json_stream import decoded, digit, text
from voiceagent.telephone.streams.stream import Stream

FORMATS: Mapping[str, AudioFormat] = {
    "ulaw": AudioFormat(Encoding.MULAW, 8_000),
    "alaw": AudioFormat(Encoding.ALAW, 8_000),
    "slin": AudioFormat(Encoding.L16, 8_000),
    "slin16": AudioFormat(Encoding.L16, 16_000),
    "slin24": AudioFormat(Encoding.L16, 24_000),
}
"""Audio formats by Asterisk's names."""


class AsteriskStream(Stream):
    """One call's messages. Commands are lines or JSON, as the events are. Pure."""

    def __init__(self) -> None:
        self._started = False
        self._speaks_json = False

    @override
    def read(self, message: str | bytes) -> Message:
        if isinstance(message, bytes):
            return Audio(message, None)
        is_json = message.lstrip().startswith("{")
        data = decoded(message) if is_json else _fields(message)
        match data.get("event"):
            case "MEDIA_START" if not self._started:
                started = Started(_format(data), CallFacts(vendors_id=text(data.get("channel_id") or data.get("connection_id"))))
                self._started, self._speaks_json = True, is_json
                return started
            case "DTMF_END":
                return digit(data.get("digit"))
            case "MEDIA_BUFFERING_COMPLETED":
                return MarkReached(text(data.get("correlation_id")))
            case "MEDIA_XOFF":
                return Flow(may_send=False)
            case "MEDIA_XON":
                return Flow(may_send=True)
            case "HANGUP":
                return Stopped()
        return Other()

    @override
    def mark(self, name: str) -> tuple[str, ...]:
        # An empty buffered transfer: Asterisk reports its end when everything sent before it has gone out.
        return (self._command("START_MEDIA_BUFFERING"), self._command("STOP_MEDIA_BUFFERING", name))

    @override
    def clear(self) -> tuple[str, ...]:
        return (self._command("FLUSH_MEDIA"),)  # no mark comes back for it

    @override
    def hang_up(self) -> tuple[str, ...]:
        return (self._command("HANGUP"),)

    def _command(self, command: str, correlation_id: str = "") -> str:
        if not self._speaks_json:
            return f"{command} {correlation_id}".rstrip()
        rest = {"correlation_id": correlation_id} if correlation_id else {}
        return msgspec.json.encode({"command": command, **rest}).decode()


def _fields(line: str) -> JsonObject:
    """The fields of an event that is a line: its name, then `name:value` pairs or a bare id."""
    event, *rest = line.split()[:16] or [""]
    fields = {name: value for name, colon, value in (word.partition(":") for word in rest) if colon}
    alone = next((word for word in rest if ":" not in word), "")
    return {"correlation_id": alone, **fields, "event": event}


def _format(data: JsonObject) -> AudioFormat:
    """The channel's audio. Raises MediaError for an unsupported code, or for frames that do not divide ours."""
    name = text(data.get("format"))
    found = FORMATS.get(name)
    if found is None:
        raise MediaError(f"a channel of format {name[:20]!r}; expected {', '.join(FORMATS)}: name one in Dial, such as c(ulaw)")
    frame_bytes = found.rate_hz // 50 * (2 if found.encoding is Encoding.L16 else 1)
    optimal = text(data.get("optimal_frame_size")) or str(frame_bytes)
    if not optimal.isascii() or not optimal.isdigit() or not int(optimal[:9]) or frame_bytes % int(optimal[:9]):
        raise MediaError(f"frames of {optimal[:20]!r} bytes; expected {frame_bytes}, which are 20 ms of {name}")
    return found
