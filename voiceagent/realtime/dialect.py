"""A wire protocol as one mapping. The session core makes and takes events without names; a dialect knows what its protocol calls
them, and how it writes the session and its items. A second protocol is a second `Dialect`. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import ClientEvent, ClientEventError
from voiceagent.realtime.response_settings import ResponseSettings
from voiceagent.realtime.server_events import ServerEvent
from voiceagent.realtime.settings import ClientSettings, SessionFacts
from voiceagent.untrusted_json import read_json, read_struct

MAX_EVENT_CHARACTERS = 65_536
MAX_AUDIO_EVENT_CHARACTERS = 1_048_576
"""An event with audio may be longer: about 16 s of PCM."""


class _Named(msgspec.Struct):
    type: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names and forms of one protocol."""

    client_events: Mapping[str, type[ClientEvent]]
    """The client's events by name."""
    names: Mapping[type, str]
    """The name of each server event, item and part: its `type` on the wire."""
    read: Callable[[type[ClientEvent], JsonObject, str | None], ClientEvent]
    """Makes an event of its JSON; the last argument is the client's id of it. Raises ClientEventError."""
    read_session: Callable[[ClientSettings, SessionFacts, JsonObject, str | None], ClientSettings]
    """Returns the settings with a client's changes in them. Raises ClientEventError, and then nothing is changed."""
    write_session: Callable[[ClientSettings, SessionFacts], JsonObject]
    """Returns the session as the client sees it."""
    read_response: Callable[[ClientSettings, SessionFacts, JsonObject, str | None], ResponseSettings]
    """Returns the settings of one response: the session's, with the client's overrides in them. Raises ClientEventError."""

    def decode(self, text: str) -> ClientEvent:
        """Read one client event. Raises ClientEventError for text that is too long, is not JSON, or is no known event."""
        if len(text) > MAX_EVENT_CHARACTERS:
            self._check_length(text)
        try:
            raw = read_json(text)
        except ValueError as error:
            raise ClientEventError(
                f"The event is not valid JSON ({error}); send one JSON object.", code="invalid_json"
            ) from error
        if not isinstance(raw, dict):
            raise ClientEventError(f"The event is a JSON {type(raw).__name__}, expected an object.", code="invalid_json")
        event_id = raw.get("event_id") if isinstance(raw.get("event_id"), str) else None
        name = raw.pop("type", None)
        kind = self.client_events.get(name) if isinstance(name, str) else None
        if kind is None:
            known = ", ".join(sorted(self.client_events))
            raise ClientEventError(
                f"The event type {repr(name)[:80]} is not known; expected one of {known}.",
                code="unknown_event",
                param="type",
                event_id=event_id,
            )
        return self.read(kind, raw, event_id)

    def _check_length(self, text: str) -> None:
        """Raises ClientEventError unless the long event holds audio. Nothing of it is kept."""
        kind = None
        if len(text) <= MAX_AUDIO_EVENT_CHARACTERS:
            with contextlib.suppress(ValueError):
                kind = self.client_events.get(read_struct(text, _Named).type)
        if kind is None or not kind.carries_audio:
            raise ClientEventError(
                f"The event has {len(text)} characters, at most {MAX_EVENT_CHARACTERS} are accepted; send less at once.",
                code="event_too_large",
            )

    def encode(self, event: ServerEvent, event_id: str) -> JsonObject:
        """The event as JSON."""
        written: JsonObject = self._plain(event)
        if event.has_id:
            written["event_id"] = event_id
        return written

    def _plain(self, value: object) -> JsonObject:
        written: JsonObject = {}
        name = self.names.get(type(value))
        if name is not None:
            written["type"] = name
        for field in value.__struct_fields__:  # type: ignore[attr-defined]
            written[field] = self._value(getattr(value, field))
        return written

    def _value(self, value: object) -> object:
        if isinstance(value, msgspec.Struct):
            return self._plain(value)
        return [self._value(one) for one in value] if isinstance(value, tuple | list) else value
