"""Events of a client, without their names on the wire: what a client may ask of a session. A dialect reads them."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject

MAX_TEXT_CHARACTERS = 4_000


class ClientEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all client events."""

    carries_audio: ClassVar[bool] = False

    event_id: str | None = None


class SessionUpdate(ClientEvent, frozen=True):
    """Change the session; merged deeply into it."""

    session: dict[str, object]


class NewMessage(msgspec.Struct, frozen=True):
    """A message that the client adds: typed by the caller, or of the conversation before the call."""

    role: Literal["user", "assistant", "system"]
    texts: tuple[str, ...]
    id: str | None = None
    spoken: frozenset[int] = frozenset()
    """The numbers of the texts that are transcripts of speech."""


class NewFunctionCall(msgspec.Struct, frozen=True):
    """A tool call of the conversation before the call."""

    name: str
    arguments: str
    call_id: str
    id: str | None = None


class NewFunctionOutput(msgspec.Struct, frozen=True):
    """A tool's result."""

    call_id: str
    output: str
    id: str | None = None


class NewApproval(msgspec.Struct, frozen=True):
    """The answer to a request for an approval."""

    request_id: str
    is_given: bool
    reason: str
    id: str | None = None


NewItem = NewMessage | NewFunctionCall | NewFunctionOutput | NewApproval


class ItemCreate(ClientEvent, frozen=True):
    """Add an item to the conversation: behind `previous_item_id`, at the beginning, or at the end where it is left out."""

    item: NewItem
    previous_item_id: str | None = None


class ItemRetrieve(ClientEvent, frozen=True):
    """Ask for an item."""

    item_id: str


class ItemDelete(ClientEvent, frozen=True):
    """Take an item out of the conversation."""

    item_id: str


class ItemTruncate(ClientEvent, frozen=True):
    """Cut a message of the agent at what was played of it."""

    item_id: str
    content_index: int
    audio_end_ms: int


class ResponseCreate(ClientEvent, frozen=True):
    """Ask for a reply now."""

    response: JsonObject = {}


class ResponseCancel(ClientEvent, frozen=True):
    """Stop the current reply."""

    response_id: str | None = None


class PlayoutClear(ClientEvent, frozen=True):
    """Stop speaking."""


class AudioAppend(ClientEvent, frozen=True):
    """More of the caller's audio, where it comes by event."""

    carries_audio: ClassVar[bool] = True

    audio: str


class AudioCommit(ClientEvent, frozen=True):
    """The utterance ends here."""


class AudioClear(ClientEvent, frozen=True):
    """Forget the open utterance's audio."""


class ClientEventError(ProtocolError):
    """A client event that cannot be used. `code` and `param` go into the error, as does the client's `event_id`."""

    def __init__(self, message: str, *, code: str, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.event_id = event_id
