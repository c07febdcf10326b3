"""The call that a tool runs for. A Python tool gets it by a parameter of the type `CallContext`, which the language model neither
sees nor writes. Webhooks get its facts as headers, and in the body where their entry asks for it; MCP servers get them as `_meta`
where theirs does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Literal, Protocol
from urllib.parse import quote

from typing_extensions import TypeVar

from voiceagent.json_types import JsonObject

HEADER = "X-Voiceagent-Call-"
META = "voiceagent/call"
"""The key of the call in the `_meta` of an MCP request."""
SAFE = " !#$&'()*+,-./:;<=>?@[]^_`{|}~"
"""Signs that stand in a header as they are. Others are percent-encoded as UTF-8 (RFC 3986)."""
MAX_LINE_CHARACTERS = 300
"""The longest line that a tool may have said."""


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The two sides of a call, and the operator's parameters."""

    caller: str = ""
    """The caller's number or address, as the line reports it. Empty for a browser."""
    called: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The operator's own: what the line's vendor passes on, or what came with the client secret."""


@dataclass(frozen=True, slots=True)
class SaidLine:
    """Something that was said in the call, and heard."""

    by: Literal["caller", "agent"]
    text: str


class CallRequests(Protocol):
    """Takes what a tool asks of its call. May be called from any thread."""

    def say(self, text: str) -> None:
        """Say a line while the tool runs."""
        ...

    def transfer(self, to: str) -> None:
        """Transfer the caller after the reply. Raises ToolError if there is nobody of that name."""
        ...

    def end(self, reason: str) -> None:
        """End the call after the reply."""
        ...


class RecordedRequests:
    """Remembers what a tool asked for, where there is no call: in the tests of a tool."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.transfers: list[str] = []
        self.ended: list[str] = []
        """The reasons."""

    def say(self, text: str) -> None:
        """Remember a line."""
        self.said.append(text)

    def transfer(self, to: str) -> None:
        """Remember to whom."""
        self.transfers.append(to)

    def end(self, reason: str) -> None:
        """Remember the reason."""
        self.ended.append(reason)


StateT_co = TypeVar("StateT_co", covariant=True, default=dict[str, object])


@dataclass(frozen=True)
class CallContext(Generic[StateT_co]):
    """The call that a tool runs for: `def book(day: str, call: CallContext) -> str`. The facts are those of the run's beginning.

    `CallContext[Order]` names a dataclass or a msgspec Struct, made without arguments when the call begins: `state` is that
    object in every run of the call, else a dict. A test makes a context of its own, `CallContext(caller="+49 30 1234567")`, whose
    `requests` remember what the tool asked for."""

    call_id: str = ""
    leg: str = "webrtc"
    """`webrtc`, `websocket`, `telephone` or `text`."""
    caller: str = ""
    """The caller's number or address, as the line reports it. Empty for a browser."""
    called: str = ""
    """The number that was called."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The operator's own: what the line's vendor passes on, or what came with the client secret."""
    client_parameters: Mapping[str, object] = field(default_factory=dict)
    """The client's own words: the `metadata` of its session's `tracing`. Anybody may write anything there."""
    language: str = "en"
    """The code of the caller's language."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    said: tuple[SaidLine, ...] = ()
    """The words of both sides so far. Of the agent's, those that the caller heard."""
    state: StateT_co = field(default_factory=dict)  # type: ignore[assignment]  # the default of StateT_co
    """The object that the tools of the call keep until it ends. Runs at the same time share it."""
    requests: CallRequests = field(default_factory=RecordedRequests)

    def say(self, text: str) -> None:
        """Have a line said while the tool runs. It is left out if nobody waits for the tool any more, or if a guard withholds it.
        Raises ValueError for an empty line, and for one of more than 300 characters."""
        line = " ".join(text.split())
        if not 0 < len(line) <= MAX_LINE_CHARACTERS:
            raise ValueError(f"say: expected 1 to {MAX_LINE_CHARACTERS} characters, got {len(line)}")
        self.requests.say(line)

    def transfer(self, to: str) -> None:
        """Have the caller transferred, once the reply is over, to somebody whom the telephone's settings name. Raises ToolError
        if there is nobody of that name, or the call is no telephone's."""
        self.requests.transfer(to)

    def end(self, reason: str = "") -> None:
        """Have the call end once the reply was heard, unless the caller objects meanwhile. The reason stands in the call's
        result."""
        self.requests.end(" ".join(reason.split())[:MAX_LINE_CHARACTERS])

    @property
    def facts(self) -> JsonObject:
        """The call's facts as JSON."""
        return {
            "id": self.call_id,
            "leg": self.leg,
            "caller": self.caller,
            "called": self.called,
            "language": self.language,
            "started_at": self.started_at.isoformat(timespec="milliseconds"),
            "parameters": dict(self.parameters),
            "client_parameters": dict(self.client_parameters),
        }

    @property
    def headers(self) -> dict[str, str]:
        """The call's facts as HTTP headers, without the parameters; facts that are not known are left out."""
        named = {
            "Id": self.call_id,
            "Leg": self.leg,
            "Caller": self.caller,
            "Called": self.called,
            "Language": self.language,
            "Started-At": self.started_at.isoformat(timespec="milliseconds"),
        }
        return {HEADER + name: quote(value, safe=SAFE) for name, value in named.items() if value}
