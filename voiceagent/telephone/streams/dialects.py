"""The vendors' dialects of media streams. Twilio's has JSON messages with the audio in Base64; most vendors' differ only in
names, and each of them has a field map. Others send audio in binary messages. Vonage and jambonz' `listen` send 16-bit samples,
and everything else as JSON. Asterisk's `chan_websocket` (docs.asterisk.org, Configuration/Channel-Drivers/WebSocket) sends the
channel's own code, and everything else as lines of text, or as JSON from 20.18, 22.8 and 23.2 on. Asterisk buffers what it is
sent, cuts it into frames and paces them. It reports when a buffered transfer has gone out, and that serves as a mark."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from typing_extensions import override

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.telephone.messages import (
    MAX_PARAMETERS,
    RATES_HZ,
    Audio,
    AudioFormat,
    CallFacts,
    Digit,
    Encoding,
    Flow,
    MarkReached,
    Message,
    Other,
    Started,
    Stopped,
    Stream,
)
from voiceagent.untrusted_json import read_json

MAX_TEXT = 256
"""The most characters of a number, an id, a parameter's name or its value. The rest is left out."""
MULAW_8K = AudioFormat()
_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
"""Control characters of terminals, because what is read here is logged."""
KEYS = frozenset("0123456789*#ABCD")
_ENCODINGS = {
    "audio/x-mulaw": Encoding.MULAW,
    "pcmu": Encoding.MULAW,
    "mulaw": Encoding.MULAW,
    "audio/x-alaw": Encoding.ALAW,
    "pcma": Encoding.ALAW,
    "alaw": Encoding.ALAW,
    "audio/x-l16": Encoding.L16,
    "audio/l16": Encoding.L16,
    "l16": Encoding.L16,
    "audio/x-raw": Encoding.L16,
    "raw/slin": Encoding.L16,
    "base64": Encoding.L16,
}


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The names of one vendor. Several names are tried in order, because vendors rename fields."""

    stream_id: str = "streamSid"
    names_stream: bool = True
    """True if the messages that we send hold the stream's id."""
    call_id: tuple[str, ...] = ("callSid",)
    media_format: str = "mediaFormat"
    rate: str = "sampleRate"
    parameters: str = "customParameters"
    usual: AudioFormat = MULAW_8K
    """The audio format if the start message names none."""
    play: str = "media"
    """The event that plays audio."""
    play_tells_format: bool = False
    mark: str = "mark"
    mark_name_inside: bool = True
    """True if a mark's name is in an object of its own."""
    marks_reached: tuple[str, ...] = ("mark",)
    clear: str = "clear"
    send_keys: str = ""
    """The event that presses keys; empty where the vendor's streams press none."""
    tracks: tuple[str, ...] = ("", "inbound", "inbound_track")
    """The names of the caller's track."""


class JsonStream(Stream):
    """One call's messages. Pure."""

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields
        self._started = False
        self._stream_id = ""
        self._format = fields.usual

    @override
    def read(self, message: str | bytes) -> Message:
        if isinstance(message, bytes):
            raise MediaError(f"a binary message of {len(message)} bytes; expected JSON text")
        data = decoded(message)
        fields, event = self._fields, data.get("event")
        if event == "media":
            return self._audio(_inner(data, "media"))
        if event == "start" and not self._started:
            return self._start(data, _inner(data, "start"))
        if event == "dtmf":
            return digit(_inner(data, "dtmf").get("digit"))
        if event == "stop":
            return Stopped()
        if event in fields.marks_reached:
            return MarkReached(str((_inner(data, "mark") if fields.mark_name_inside else data).get("name", "")))
        return Other()

    @override
    def audio(self, payload: bytes) -> str | bytes:
        media: JsonObject = {"payload": base64.b64encode(payload).decode("ascii")}
        if self._fields.play_tells_format:
            content_type = "audio/x-mulaw" if self._format.encoding is Encoding.MULAW else "audio/x-l16"
            media = {"contentType": content_type, "sampleRate": self._format.rate_hz, **media}
        return self._message(self._fields.play, media=media)

    @override
    def mark(self, name: str) -> tuple[str, ...]:
        named = {"mark": {"name": name}} if self._fields.mark_name_inside else {"name": name}
        return (self._message(self._fields.mark, **named),)

    @override
    def clear(self) -> tuple[str, ...]:
        return (self._message(self._fields.clear),)

    @property
    def presses_keys(self) -> bool:
        """True if `keys` can be sent."""
        return bool(self._fields.send_keys)

    def keys(self, keys: str) -> str:
        """The message that presses keys of the telephone."""
        return self._message(self._fields.send_keys, dtmf=keys)

    def _message(self, event: str, **rest: object) -> str:
        stream = {self._fields.stream_id: self._stream_id} if self._fields.names_stream else {}
        return msgspec.json.encode({"event": event, **stream, **rest}).decode()

    def _start(self, data: JsonObject, start: JsonObject) -> Started:
        fields = self._fields
        self._stream_id = text(start.get(fields.stream_id) or data.get(fields.stream_id))
        media_format = start.get(fields.media_format)
        if isinstance(media_format, dict):
            self._format = audio_format(media_format.get("encoding"), media_format.get(fields.rate), fields.usual)
        given = start.get(fields.parameters) or data.get(fields.parameters)
        facts = CallFacts(
            text(start.get("from")),
            text(start.get("to")),
            next((text(start[name]) for name in fields.call_id if start.get(name)), ""),
            parameters_of(given),
        )
        self._started = True
        return Started(self._format, facts)

    def _audio(self, media: JsonObject) -> Message:
        if text(media.get("track")) not in self._fields.tracks:
            return Other()
        payload, chunk = media.get("payload"), media.get("chunk")
        if not isinstance(payload, str):
            raise MediaError("media without a payload; expected audio in Base64")
        try:
            return Audio(base64.b64decode(payload, validate=True), None if chunk is None else int(chunk))
        except (binascii.Error, ValueError, TypeError, OverflowError) as error:
            raise MediaError(f"media that cannot be read ({error}); expected audio in Base64 and a number as chunk") from error


def decoded(message: str) -> JsonObject:
    """Decode a JSON object. Raises MediaError."""
    try:
        data = read_json(message)
    except ValueError as error:
        raise MediaError(f"a message that is no JSON ({error}), of {len(message)} characters") from error
    if not isinstance(data, dict):
        raise MediaError(f"a message that is {type(data).__name__}; expected a JSON object")
    return data


def text(value: object) -> str:
    """A value as a short text without line breaks and control characters; empty for anything but text and numbers."""
    return " ".join(str(value).split()).translate(_CONTROL)[:MAX_TEXT] if isinstance(value, str | int | float) else ""


def digit(value: object) -> Message:
    """A key of the telephone. Raises MediaError for anything else."""
    key = text(value).upper()
    if key not in KEYS or not key:
        raise MediaError(f"a key of {len(key)} characters; expected one of 0 to 9, *, #, A to D")
    return Digit(key)


def parameters_of(given: object) -> Mapping[str, str]:
    """The operator's own parameters: an object, or `name=value` pairs between commas or semicolons."""
    if isinstance(given, str):
        pairs = (pair.partition("=") for pair in given.replace(";", ",").split(",") if "=" in pair)
        given = {name.strip(): value.strip() for name, _, value in pairs}
    if not isinstance(given, dict):
        return {}
    found = {text(name): text(value) for name, value in given.items()}
    return dict([pair for pair in found.items() if all(pair)][:MAX_PARAMETERS])


def audio_format(encoding: object, rate_hz: object, usual: AudioFormat) -> AudioFormat:
    """The audio that a start message announces. Raises MediaError for an unsupported format."""
    name, _, _ = text(encoding).lower().partition(";")
    found = _ENCODINGS.get(name) if name else usual.encoding
    rate = usual.rate_hz if rate_hz is None else 0
    with suppress(ValueError, OverflowError):
        rate = int(rate_hz) if isinstance(rate_hz, str | int | float) else rate
    if found is None or rate not in RATES_HZ or (found is not Encoding.L16 and rate != 8_000):
        rates = ", ".join(map(str, RATES_HZ))
        raise MediaError(
            f"audio as {name[:40] or 'nothing'} at {text(rate_hz)[:20]} Hz; expected mulaw or alaw at 8000 Hz, "
            f"or l16 at {rates} Hz"
        )
    return AudioFormat(found, rate)


def _inner(data: JsonObject, name: str) -> JsonObject:
    inner = data.get(name)
    if not isinstance(inner, dict):
        raise MediaError(f"a {name} message without its {name!r}; expected an object of that name")
    return inner


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
