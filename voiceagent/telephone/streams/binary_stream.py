"""The dialects of Vonage and of jambonz' `listen`: audio as binary messages of 16-bit samples, everything else as JSON."""

from __future__ import annotations

import msgspec
from typing_extensions import override

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.telephone.messages import (
    Audio,
    AudioFormat,
    CallFacts,
    Encoding,
    MarkReached,
    Message,
    Other,
    Started,
)
from voiceagent.telephone.streams.json_stream import audio_format, decoded, digit, parameters_of, text
from voiceagent.telephone.streams.stream import Stream

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
