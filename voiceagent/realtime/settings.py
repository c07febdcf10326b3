"""The settings of a session that its client may change, without their names on the wire, and what the call's leg and agent can do
of them. A dialect reads and shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.server_events import ErrorDetails

Eagerness = Literal["auto", "low", "medium", "high"]
Encoding = Literal["pcm", "pcmu", "pcma"]
"""PCM of 16 bit at 24 kHz, or G.711 at 8 kHz."""


ToolChoice = str | dict[str, str]
"""`auto`, `none`, `required`, or the function that is called first."""


class TurnDetection(Struct, frozen=True):
    """The end of the caller's turns."""

    by: Literal["meaning", "silence", "client"] = "meaning"
    """The server ends a turn by what was said and how, or by a fixed silence; or the client ends it (push to talk)."""
    eagerness: Eagerness = "auto"
    """The haste with which a turn that is judged by its meaning is over. `auto`: as the agent is set."""
    silence_ms: int | None = None
    """The silence that ends a turn. None: the agent's own endpointing."""
    threshold: float | None = None
    """The voice detector's threshold, 0 to 1. None: its own."""
    padding_ms: int | None = None
    """Audio before the onset that belongs to the turn. None: the server's own."""
    idle_ms: int | None = None
    """After a reply, the silence after which the agent speaks again. None: the agent's own silence time."""
    answers: bool = True
    """True when a reply follows each turn by itself."""
    interruptible: bool = True
    """True when the caller's speech may stop the agent's."""

    @property
    def is_manual(self) -> bool:
        """True when the client ends the turns."""
        return self.by == "client"


class Transcription(Struct, frozen=True):
    """The texts of the caller's speech that the client wants."""

    model: str | None = None
    language: str | None = None


class Truncation(Struct, frozen=True):
    """The fate of a long conversation."""

    kind: Literal["auto", "never", "ratio"] = "auto"
    ratio: float = 0.5
    """The share of the conversation that stays."""
    tokens: int | None = None
    """The length of the conversation from which on it is shortened. None: the agent's own."""


class ClientSettings(Struct, frozen=True):
    """The settings of a session that its client may change."""

    transcribes_only: bool = False
    """True when the client wants the texts of the caller's speech and nothing else."""
    instructions: str = ""
    model: str = "voiceagent"
    voice: str | dict[str, str] = "default"
    """Both names are kept as they were given. The agent's own model and voice answer."""
    text_only: bool = False
    """True when replies are written and not spoken."""
    max_tokens: int | None = None
    """The most tokens of a reply. None: no limit."""
    tools: tuple[JsonObject, ...] = ()
    """The tools that the client runs itself."""
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool | None = None
    turn_detection: TurnDetection = TurnDetection()
    transcription: Transcription | None = Transcription()
    noise_reduction: str | None = None
    input_encoding: Encoding = "pcm"
    output_encoding: Encoding = "pcm"
    speed: float = 1.0
    truncation: Truncation = Truncation()
    tracing: str | JsonObject | None = None


OfferTools = Callable[[object], list[dict[str, object]]]
"""Takes a client's tools in the form of `session.tools`, and returns them as the session shows them. Raises ProtocolError; then
the earlier tools stay."""


def no_client_tools(tools: object) -> list[dict[str, object]]:
    """Rejects tools in calls that take no client tools. Raises ProtocolError."""
    if tools:
        raise ProtocolError("Tools run on this server: name them in agent.yaml.")
    return []


@dataclass(frozen=True, slots=True)
class NoiseReduction:
    """The noise suppression that the call's leg can do."""

    is_on: bool = False
    """True when noise is suppressed unless the client turns that off."""
    why_not: str = ""
    """The reason why it cannot be; empty where it can."""


class SessionFacts(Struct, frozen=True):
    """The facts of a session, which its client cannot change."""

    call_id: str
    session_id: str = ""
    agent: str = ""
    greets: bool = False
    """True when the agent speaks first."""
    languages: tuple[str, ...] = ()
    """The codes of the languages that are recognised. Empty: any."""
    takes_audio: bool = False
    """True when the caller's audio comes by events, and the agent's goes by events."""
    is_telephone: bool = False
    """True when the caller calls by telephone."""
    is_recorded: bool = False
    """True while the call is recorded."""
    has_spoken: bool = False
    """True once the agent was heard. Then its voice cannot change."""
    no_forcing: str = ""
    """The reason why the language model cannot be made to call a tool. Empty if it can."""
    tools: tuple[str, ...] = ()
    """The names of the tools that the server runs."""


class SessionSettings:
    """The settings of one session."""

    def __init__(
        self, facts: SessionFacts, current: ClientSettings, read: Read, *, offer_tools: OfferTools = no_client_tools
    ) -> None:
        """`read` is the dialect's way to read changes."""
        self.facts = facts
        self.current = current
        self._read = read
        self._offer_tools = offer_tools
        self._noise_reduction = NoiseReduction()

    @property
    def instructions(self) -> str:
        """The agent's instructions."""
        return self.current.instructions

    @property
    def reduces_noise(self) -> bool:
        """True when noise is to be suppressed."""
        return self.current.noise_reduction is not None

    def offer(self, noise_reduction: NoiseReduction, **facts: object) -> None:
        """Set the abilities of the leg, and other facts of the session; call it before the session is shown."""
        self._noise_reduction = noise_reduction
        self.facts = replace(self.facts, **facts)
        self.current = replace(self.current, noise_reduction=NEAR if noise_reduction.is_on else None)

    def note_speech(self) -> None:
        """The agent was heard."""
        if not self.facts.has_spoken:
            self.facts = replace(self.facts, has_spoken=True)

    def is_clients_tool(self, name: str) -> bool:
        """True when the client runs the tool of this name."""
        return any(tool.get("name") == name for tool in self.current.tools)

    def update(self, changes: JsonObject, event_id: str | None = None) -> ErrorDetails | None:
        """Merge changes in. Returns what was left out and why, if the client must know. Raises ClientEventError when nothing was
        changed, because some of it cannot be used."""
        wanted = self._read(self.current, self.facts, changes, event_id)
        refused = None
        if wanted.noise_reduction is not None and self._noise_reduction.why_not:
            wanted = replace(wanted, noise_reduction=None)
            message = f"Noise is not suppressed here: {self._noise_reduction.why_not}. The rest of the update was applied."
            refused = ErrorDetails(REFUSED, "noise_reduction_unavailable", message, NOISE_PARAM, event_id)
        tools, wanted = wanted.tools, replace(wanted, tools=self.current.tools)
        self.current = wanted
        if changes.get("tools") is None:
            return refused
        try:
            self.current = replace(wanted, tools=tuple(self._offer_tools(list(tools))))
        except ProtocolError as error:
            return ErrorDetails(
                REFUSED, "invalid_tools", f"{error} The rest of the update was applied.", "session.tools", event_id
            )
        return refused


Read = Callable[[ClientSettings, SessionFacts, JsonObject, str | None], ClientSettings]
NEAR = "near_field"
REFUSED: Literal["invalid_request_error"] = "invalid_request_error"
NOISE_PARAM = "session.audio.input.noise_reduction"


def invalid(message: str, param: str, event_id: str | None, code: str = "invalid_value") -> ClientEventError:
    """The error for a value that cannot be used."""
    return ClientEventError(message, code=code, param=param, event_id=event_id)
