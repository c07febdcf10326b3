"""The session object of a call: what `session.created` shows and `session.update` may change. New instructions take effect. Model
and voice names are kept as the client wrote them, because ordinary clients always send some. The call judges the tools that a
client offers. What this server decides by itself (modalities, turn detection) does not change, and the answer shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from voiceagent import __version__
from voiceagent.conversation.history import MAX_LEVELS, nests_deeper
from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.server_events import ErrorDetails

MAX_SESSION_BYTES = 65_536
MAX_INSTRUCTIONS_CHARACTERS = 16_000
MAX_CONTAINERS = 8_000
"""The most lists and objects in one update, counted by their brackets: each takes time of the event loop."""
_FIXED = frozenset({"id", "object", "type", "output_modalities", "tools", "tool_choice", "voiceagent"})
KINDS = ("near_field", "far_field")
"""Both are the same noise suppressor."""
PARAM = "session.audio.input.noise_reduction"


def checked_instructions(changes: JsonObject, event_id: str | None = None) -> str:
    """The instructions that a client sends with its offer or in a `session.update`; empty where it sends none. Raises
    ClientEventError."""
    instructions = changes.get("instructions", "")
    if not isinstance(instructions, str) or len(instructions) > MAX_INSTRUCTIONS_CHARACTERS:
        raise _invalid(
            f"session.instructions must be text of at most {MAX_INSTRUCTIONS_CHARACTERS} characters.",
            "session.instructions",
            event_id,
        )
    return instructions


def asked_with_offer(session: JsonObject) -> JsonObject:
    """Returns the requests in the session settings that come with an offer, as `session.update` takes them; empty where there are
    none. Raises ClientEventError for an invalid setting."""
    audio = session.get("audio")
    heard = audio.get("input") if isinstance(audio, dict) else None
    if not isinstance(heard, dict) or "noise_reduction" not in heard:
        return {}
    wanted = heard["noise_reduction"]
    NoiseReduction().check({"noise_reduction": wanted}, None)
    return {"audio": {"input": {"noise_reduction": wanted and {"type": wanted["type"]}}}}


@dataclass(frozen=True, slots=True)
class NoiseReduction:
    """The noise suppression that the call's leg can do."""

    is_on: bool = False
    """True when noise is suppressed unless the client turns that off."""
    why_not: str = ""
    """The reason why it cannot be; empty where it can."""

    @property
    def shown(self) -> dict[str, object] | None:
        """As the session begins."""
        return {"type": KINDS[0]} if self.is_on else None

    def check(self, heard: dict[str, object], event_id: str | None) -> ErrorDetails | None:
        """Check what a client wrote into `audio.input`. What cannot be had is taken out of it, and the client is told why. Raises
        ClientEventError for what is no such setting."""
        wanted = heard.setdefault("noise_reduction", None)
        if wanted is None:
            return None
        if not isinstance(wanted, dict) or wanted.get("type") not in KINDS:
            kinds = " or ".join(f'{{"type": "{kind}"}}' for kind in KINDS)
            message = f"{PARAM} must be {kinds}, or null for none."
            raise ClientEventError(message, code="invalid_value", param=PARAM, event_id=event_id)
        if not self.why_not:
            return None
        heard["noise_reduction"] = None
        message = f"Noise is not suppressed here: {self.why_not}. The rest of the update was applied."
        return ErrorDetails("invalid_request_error", "noise_reduction_unavailable", message, PARAM, event_id)


OfferTools = Callable[[object], list[dict[str, object]]]
"""Takes a client's tools in the form of `session.tools`, and returns them as the session shows them. Raises ProtocolError; then
the earlier tools stay."""


def no_client_tools(tools: object) -> list[dict[str, object]]:
    """Rejects tools in calls that take no client tools. Raises ProtocolError."""
    if tools:
        raise ProtocolError("Tools run on this server: name them in agent.yaml.")
    return []


class SessionSettings:
    """The session as the client sees it."""

    def __init__(
        self,
        call_id: str,
        *,
        agent: str,
        instructions: str,
        session_id: str,
        tools: Sequence[JsonObject] = (),
        offer_tools: OfferTools = no_client_tools,
    ) -> None:
        self._offer_tools = offer_tools
        self._noise_reduction = NoiseReduction()
        pcm = {"type": "audio/pcm", "rate": 24_000}
        self.session: JsonObject = {
            "type": "realtime",
            "object": "realtime.session",
            "id": session_id,
            "model": "voiceagent",
            "output_modalities": ["audio"],
            "instructions": instructions,
            "audio": {
                "input": {
                    "format": pcm,
                    "noise_reduction": None,
                    "turn_detection": {"type": "server_vad", "create_response": True, "interrupt_response": True},
                },
                "output": {"format": pcm, "voice": "default"},
            },
            "tools": list(tools),
            "tool_choice": "auto",
            "voiceagent": {"version": __version__, "call_id": call_id, "agent": agent, "greeting": False},
        }

    @property
    def instructions(self) -> str:
        """The agent's instructions."""
        return str(self.session["instructions"])

    @property
    def reduces_noise(self) -> bool:
        """True when noise is to be suppressed."""
        return self.session["audio"]["input"]["noise_reduction"] is not None

    def offer(self, noise_reduction: NoiseReduction, *, greets: bool = False) -> None:
        """Sets the abilities of the leg, and whether the agent speaks first; call it before the session is shown."""
        self._noise_reduction = noise_reduction
        self.session["voiceagent"]["greeting"] = greets
        self.session["audio"]["input"]["noise_reduction"] = noise_reduction.shown

    def is_clients_tool(self, name: str) -> bool:
        """True when the client runs the tool of this name."""
        return any(tool["name"] == name for tool in self.session["tools"])

    def update(self, changes: dict[str, object], event_id: str | None = None) -> ErrorDetails | None:
        """Merge changes in. Returns what was left out and why, if the client must know. Raises ClientEventError when nothing was
        changed, because a value has the wrong type or the session would grow too large or too deep."""
        checked_instructions(changes, event_id)  # the agent's own instructions may be longer
        if _containers(changes) > MAX_CONTAINERS:
            raise _invalid(f"The update holds more than {MAX_CONTAINERS} lists and objects; send less.", "session", event_id)
        if nests_deeper(changes):
            raise _invalid(f"The session nests deeper than {MAX_LEVELS} levels; make it flatter.", "session", event_id)
        merged = _merged(self.session, {key: value for key, value in changes.items() if key not in _FIXED})
        audio = merged["audio"]
        if not isinstance(audio, dict) or not isinstance(audio.get("input"), dict) or not isinstance(audio.get("output"), dict):
            raise _invalid("session.audio must be an object with `input` and `output` objects.", "session.audio", event_id)
        audio = merged["audio"] = {**audio, "input": dict(audio["input"])}
        audio["input"]["turn_detection"] = self.session["audio"]["input"]["turn_detection"]
        refused = self._noise_reduction.check(audio["input"], event_id)
        offered = changes.get("tools")
        if offered is not None:
            merged["tools"] = offered
        if len(msgspec.json.encode(merged)) > MAX_SESSION_BYTES:
            raise _invalid(f"The session would be larger than {MAX_SESSION_BYTES} bytes; send less.", "session", event_id)
        merged["tools"], self.session = self.session["tools"], merged
        if offered is None:
            return refused
        try:
            self.session["tools"] = self._offer_tools(offered)
        except ProtocolError as error:
            return ErrorDetails(
                type="invalid_request_error",
                code="invalid_tools",
                message=f"{error} The rest of the update was applied.",
                param="session.tools",
                event_id=event_id,
            )
        return refused


def _invalid(message: str, param: str, event_id: str | None) -> ClientEventError:
    return ClientEventError(message, code="invalid_value", param=param, event_id=event_id)


def _containers(changes: dict[str, object]) -> int:
    try:
        written = msgspec.json.encode(changes)
    except RecursionError:  # reported as what it is
        return 0
    return written.count(b"[") + written.count(b"{")


def _merged(mine: JsonObject, changes: JsonObject) -> JsonObject:
    """A new object: `mine` with the changes in it. Neither is changed; values that need no merging are shared with them."""
    merged = dict(mine)
    for key, value in changes.items():
        known = mine.get(key)
        merged[key] = _merged(known, value) if isinstance(value, dict) and isinstance(known, dict) else value
    return merged
