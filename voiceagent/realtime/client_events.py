"""Events of a client on the event channel: the subset of the OpenAI Realtime client events that a spoken call needs. `decode`
takes one text message and gives a typed event, or raises ProtocolError with one clear line."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from voiceagent.errors import ProtocolError

MAX_EVENT_CHARACTERS = 65_536
MAX_TEXT_CHARACTERS = 4_000


class ClientEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all client events. Unknown fields are ignored."""

    event_id: str | None = None


class SessionUpdate(ClientEvent, frozen=True, tag="session.update"):
    """Change the session; merged deeply into it."""

    session: dict[str, object]


class TextPart(msgspec.Struct, frozen=True, tag="input_text"):
    """Typed text."""

    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARACTERS)]


class UserMessage(msgspec.Struct, frozen=True, tag="message"):
    """A message that the caller typed."""

    role: Literal["user"]
    content: Annotated[tuple[TextPart, ...], msgspec.Meta(min_length=1, max_length=16)]
    id: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class FunctionOutput(msgspec.Struct, frozen=True, tag="function_call_output"):
    """A tool's result."""

    call_id: Annotated[str, msgspec.Meta(max_length=64)]
    output: str
    id: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class ItemCreate(ClientEvent, frozen=True, tag="conversation.item.create"):
    """Add an item to the conversation. It is added at the end, whatever `previous_item_id` says."""

    item: UserMessage | FunctionOutput


class ItemRetrieve(ClientEvent, frozen=True, tag="conversation.item.retrieve"):
    """Ask for an item."""

    item_id: str


class ItemDelete(ClientEvent, frozen=True, tag="conversation.item.delete"):
    """Forget an item."""

    item_id: str


class ItemTruncate(ClientEvent, frozen=True, tag="conversation.item.truncate"):
    """Cut an item of the agent at what was played. Acknowledged; the server knows exactly what was heard anyway."""

    item_id: str
    audio_end_ms: Annotated[int, msgspec.Meta(ge=0)]
    content_index: Annotated[int, msgspec.Meta(ge=0)] = 0


class ResponseCreate(ClientEvent, frozen=True, tag="response.create"):
    """Ask for a reply now."""


class ResponseCancel(ClientEvent, frozen=True, tag="response.cancel"):
    """Stop the current reply."""

    response_id: str | None = None


class PlayoutClear(ClientEvent, frozen=True, tag="output_audio_buffer.clear"):
    """Stop speaking."""


class AudioAppend(ClientEvent, frozen=True, tag="input_audio_buffer.append"):
    """Audio by event; over WebRTC audio comes by RTP instead."""


class AudioCommit(ClientEvent, frozen=True, tag="input_audio_buffer.commit"):
    """End the utterance by hand; the server's VAD does that."""


class AudioClear(ClientEvent, frozen=True, tag="input_audio_buffer.clear"):
    """Forget the open utterance's audio."""


_KINDS: tuple[type[ClientEvent], ...] = (
    SessionUpdate,
    ItemCreate,
    ItemRetrieve,
    ItemDelete,
    ItemTruncate,
    ResponseCreate,
    ResponseCancel,
    PlayoutClear,
    AudioAppend,
    AudioCommit,
    AudioClear,
)
_BY_TYPE: dict[str, type[ClientEvent]] = {str(kind.__struct_config__.tag): kind for kind in _KINDS}


class ClientEventError(ProtocolError):
    """A client event that cannot be used. `code` and `param` go into the `error` event, as does the client's `event_id`."""

    def __init__(self, message: str, *, code: str, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.event_id = event_id


def decode(text: str) -> ClientEvent:
    """Read one client event. Raises ClientEventError for text that is too long, is not JSON, or is no known event."""
    if len(text) > MAX_EVENT_CHARACTERS:
        raise ClientEventError(
            f"The event has {len(text)} characters, at most {MAX_EVENT_CHARACTERS} are accepted; send less at once.",
            code="event_too_large",
        )
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ClientEventError(f"The event is not valid JSON ({error}); send one JSON object.", code="invalid_json") from error
    if not isinstance(raw, dict):
        raise ClientEventError(f"The event is a JSON {type(raw).__name__}, expected an object.", code="invalid_json")
    event_id = raw.get("event_id") if isinstance(raw.get("event_id"), str) else None
    name = raw.get("type")
    kind = _BY_TYPE.get(name) if isinstance(name, str) else None
    if kind is None:
        shown = repr(name)[:80]
        known = ", ".join(sorted(_BY_TYPE))
        raise ClientEventError(
            f"The event type {shown} is not known; expected one of {known}.",
            code="unknown_event",
            param="type",
            event_id=event_id,
        )
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        problem, _, path = str(error).partition(" - at `$")
        raise ClientEventError(
            f"{name}: {problem}.", code="invalid_value", param=path.strip(".`") or None, event_id=event_id
        ) from error
