"""A call's turns, read from the server's events: what was understood of the caller, the reply, what of it was heard, and what
failed. Each turn of the server is one turn here, also if it was cut off. Pure: events in, turns out."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.json_types import JsonObject


@dataclass(slots=True)
class HeardTurn:
    """A reply, and what the caller said before it."""

    caption: str = ""
    """The words that the agent understood; empty for a reply that nobody asked for, such as the greeting."""
    passed_over: str = ""
    """The caller's words over the reply that did not take the floor ("mm-hm")."""
    tools: list[JsonObject] = field(default_factory=list)
    """`voiceagent.tool` events of ended tools: name, arguments, output, ok."""
    measured: JsonObject | None = None
    """The server's `voiceagent.turn`: its stages against the budget. None for a reply that nobody asked for."""
    errors: list[str] = field(default_factory=list)
    """The errors, one line each."""
    is_over: bool = False
    is_interrupted: bool = False
    has_failed: bool = False
    """True when the server reports that the reply failed."""
    asks_client: bool = False
    """True when its last response ended with a tool of the client's, so that another response goes on."""
    spoken: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The heard and the unheard words of each message, by the id of its item."""
    texts: dict[str, str] = field(default_factory=dict)
    """The text of each message that was handed to the voice."""

    @property
    def heard(self) -> str:
        """The agent's words that were played."""
        return " ".join(heard for heard, _ in self.spoken.values() if heard)

    @property
    def unheard(self) -> str:
        """The agent's words that were not played."""
        return " ".join(filter(None, map(self._unheard, dict.fromkeys([*self.texts, *self.spoken]))))

    @property
    def failure(self) -> str:
        """The reason why the reply failed; empty if it did not."""
        return "; ".join(self.errors) or ("the reply failed" if self.has_failed else "")

    def _unheard(self, item: str) -> str:
        heard, unheard = self.spoken.get(item, ("", ""))
        if unheard or (self.is_over and not self.is_interrupted and heard):
            return unheard
        return " ".join(self.texts.get(item, "").split()[len(heard.split()) :])


class TurnReader:
    """Takes the events of a call in order."""

    def __init__(self) -> None:
        self.turns: list[HeardTurn] = []
        self.is_hearing = False
        """True while an utterance is open: it has begun, and its words are not known."""
        self._captions: list[str] = []
        self._open: set[str] = set()
        self._of_call: dict[str, HeardTurn] = {}
        self._of_item: dict[str, HeardTurn] = {}

    @property
    def is_replying(self) -> bool:
        """True while a reply goes on."""
        last = self.turns[-1] if self.turns else None
        return last is not None and not (last.is_over and (last.measured is not None or not last.asks_client))

    @property
    def pending(self) -> str:
        """Words that were understood, and not answered so far."""
        return " ".join(self._captions)

    def take(self, event: JsonObject) -> None:
        """One event of the server; others than those of turns change nothing."""
        kind = str(event.get("type", ""))
        if kind == "input_audio_buffer.speech_started":
            self._open.add(str(event.get("item_id")))
        elif kind == "conversation.item.input_audio_transcription.completed":
            self._open.discard(str(event.get("item_id")))
            self._captions += filter(None, [str(event.get("transcript", ""))])
        elif kind == "response.created":
            self._begin()
        elif self.turns:
            self._take(kind, event, self.turns[-1])
        self.is_hearing = bool(self._open)

    def _begin(self) -> None:
        last = self.turns[-1] if self.turns else None
        if last is not None and last.asks_client and last.measured is None and not self._captions:
            last.is_over = last.asks_client = False
            return
        self.turns.append(HeardTurn(self.pending))
        self._captions.clear()

    def _take(self, kind: str, event: JsonObject, turn: HeardTurn) -> None:
        if kind == "error":
            if not turn.is_over:
                turn.errors.append(error_line(event))
        elif kind == "voiceagent.heard":
            self._heard(self._of_item.setdefault(str(event.get("item_id")), turn), event)
        elif kind == "response.output_audio_transcript.delta":
            item = str(event.get("item_id"))
            told = f"{turn.texts.get(item, '')} {event.get('delta', '')}"
            turn.texts[item] = " ".join(told.split())
            self._of_item[item] = turn
        elif kind == "voiceagent.tool":
            caller = self._of_call.setdefault(str(event.get("call_id")), turn)
            if event.get("status") in ("completed", "failed"):
                caller.tools.append(event)
        elif kind == "response.done":
            self._done(turn, event.get("response") or {})
        elif kind == "voiceagent.turn":
            turn.measured, turn.is_over = event, True

    def _heard(self, turn: HeardTurn, event: JsonObject) -> None:
        item = str(event.get("item_id"))
        before, _ = turn.spoken.get(item, ("", ""))
        heard, unheard = str(event.get("heard", "")), str(event.get("unheard", ""))
        if len(heard) >= len(before):  # the end of a call reports open messages as empty
            turn.spoken[item] = (heard, unheard)

    def _done(self, turn: HeardTurn, response: JsonObject) -> None:
        turn.is_over = True
        turn.has_failed = turn.has_failed or response.get("status") == "failed"
        turn.is_interrupted = response.get("status") == "cancelled"
        if not turn.is_interrupted:
            turn.passed_over = " ".join(filter(None, [turn.passed_over, self.pending]))
            self._captions.clear()
        turn.asks_client = any(item.get("type") == "function_call" for item in response.get("output") or ())


def error_line(event: JsonObject) -> str:
    """The line of an `error` event."""
    error = event.get("error")
    return str(error.get("message") or error.get("code") or error) if isinstance(error, dict) else str(error)
