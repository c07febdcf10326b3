"""The dialects with audio in binary messages. Vonage and jambonz' `listen` send 16-bit samples, and everything else as JSON.
Asterisk's `chan_websocket` (docs.asterisk.org, Configuration/Channel-Drivers/WebSocket) sends the channel's own code, and
everything else as lines of text, or as JSON from 20.18, 22.8 and 23.2 on. Asterisk buffers what it is sent, cuts it into frames
and paces them. It reports when a buffered transfer has gone out, and that serves as a mark."""

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
    Stream,
)
from voiceagent.telephone.streams.json_stream import audio_format, decoded, digit, parameters_of, text

_USUAL = AudioFormat(Encoding.L16, 16_000)


class VonageStream(Stream):
    """One call's messages with Vonage. Pure."""

    def __init__(self) -> None:
        self._started = False

    @override
    def read(self, message: str | bytes) -> Message:
        if isinstance(message, bytes):
            return Audio(message, None)
        data = decoded(message)
        match data.get("event"):
            case "websocket:connected" if not self._started:
                return self._start(data)
            case "websocket:dtmf":
                inner = data.get("dtmf")
                return digit(data.get("digit") or (inner.get("digit") if isinstance(inner, dict) else None))
            case "websocket:notify":
                payload = data.get("payload")
                return MarkReached(text(payload.get("name")) if isinstance(payload, dict) else "")
        return Other()

    def _start(self, data: JsonObject) -> Started:
        kind, _, rate = text(data.get("content-type")).partition(";rate=")
        own = {name: value for name, value in data.items() if name not in ("event", "content-type")}
        started = Started(audio_format(kind, rate or None, _USUAL), CallFacts(parameters=parameters_of(own)))
        self._started = True
        return started

    @override
    def mark(self, name: str) -> tuple[str, ...]:
        return (_json({"action": "notify", "payload": {"name": name}}),)

    @override
    def clear(self) -> tuple[str, ...]:
        return (_json({"action": "clear"}),)


class JambonzStream(Stream):
    """One call's messages with jambonz. Pure."""

    def __init__(self) -> None:
        self._started = False

    @override
    def read(self, message: str | bytes) -> Message:
        if isinstance(message, bytes):
            return Audio(message, None)
        data = decoded(message)
        if not self._started:
            return self._start(data)
        if data.get("event") == "dtmf":
            return digit(data.get("dtmf"))
        inner = data.get("data")
        if data.get("type") == "mark" and isinstance(inner, dict) and inner.get("event") != "cleared":
            return MarkReached(text(inner.get("name")))
        return Other()

    def _start(self, data: JsonObject) -> Started:
        if data.get("mixType", "mono") != "mono":
            raise MediaError(f"a listen of mixType {text(data['mixType'])[:20]!r}; expected mono")
        facts = CallFacts(
            text(data.get("from")),
            text(data.get("to")),
            text(data.get("callSid") or data.get("call_sid")),
            parameters_of(data.get("metadata")),
        )
        started = Started(audio_format("l16", data.get("sampleRate"), _USUAL), facts)
        self._started = True
        return started

    @override
    def mark(self, name: str) -> tuple[str, ...]:
        return (_json({"type": "mark", "data": {"name": name}}),)

    @override
    def clear(self) -> tuple[str, ...]:
        return (_json({"type": "killAudio"}), _json({"type": "clearMarks"}))


def _json(message: JsonObject) -> str:
    return msgspec.json.encode(message).decode()


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
