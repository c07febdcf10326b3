"""A call as people follow it: who said what, what was heard, which tools ran, how long each turn took, why the call ended. The
events are made of what the turn engine decides. They are numbered from 1, are kept where the operator wants that, and go to
monitors. What only shows progress (words that may change, the words heard so far) goes to monitors alone, and has no number.
Kept events are read as a conversation: who said what and when, what of it was heard, who interrupted whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport

WORDS = frozenset(
    ["text", "stable", "unstable", "heard", "unheard", "arguments", "output", "message", "state", "detail", "value"]
)
"""Fields that hold what was said, or what tools were given and have answered."""
_OF_EVENTS: dict[type[ev.Event], str] = {
    ev.ConnectionLost: "connection.lost",
    ev.ConnectionResumed: "connection.resumed",
    ev.PersonRequested: "caller.asked_for_person",
    ev.TransferFailed: "transfer.failed",
    ev.InstructionsChanged: "client.changed_instructions",
    ev.ReplyCancelled: "client.stopped_reply",
}
_TOLD = frozenset([ev.TextReceived, ev.CallStateKept, *_OF_EVENTS])
"""The events of the turn engine that are told also when they cause no action."""
_ENCODER = msgspec.json.Encoder(enc_hook=float)


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One event of a call."""

    number: int
    """Its place in the call, from 1; 0 if it only shows progress."""
    type: str
    at_ms: float
    """On the call's clock."""
    fields: JsonObject
    _encoded: bytes = field(default=b"", init=False, repr=False, compare=False)

    def line(self, *, words: bool = True) -> bytes:
        """The event as JSON in one line; without `words`, nothing that was said stands in it. It is encoded once for all who read
        it."""
        if words and self._encoded:
            return self._encoded
        fields = self.fields if words else {name: value for name, value in self.fields.items() if name not in WORDS}
        number = {"number": self.number} if self.number else {}
        encoded = _ENCODER.encode({"type": self.type, **number, "at_ms": round(self.at_ms, 1), **fields})
        if words:
            object.__setattr__(self, "_encoded", encoded)
        return encoded


class CallEvents:
    """Makes the events of one call, in order."""

    def __init__(self) -> None:
        self.last = 0
        """The number of the last event."""
        self._tools: dict[str, float] = {}
        """The start of each tool that runs."""
        self._speaking: set[int] = set()
        self._detail = ""

    def started(self, at_ms: float, **facts: object) -> CallEvent:
        """The first event of a call."""
        return self._next("call.started", at_ms, facts)

    def went_on(self, call_id: str) -> CallEvent:
        """The call goes on that another server has left under this id."""
        return self._next("call.went_on", 0.0, {"call": call_id})

    def of_step(self, event: ev.Event, actions: Sequence[act.Action]) -> Sequence[CallEvent]:
        """The events of one step of the turn engine."""
        if not actions and type(event) not in _TOLD:
            return ()
        return [*self._of_event(event), *self.of_actions(actions, event.at_ms)]

    def _of_event(self, event: ev.Event) -> Iterator[CallEvent]:
        if isinstance(event, ev.TextReceived):
            yield self._next("caller.typed", event.at_ms, {"text": event.text})
        elif isinstance(event, ev.CallStateKept):
            yield self._next("state.kept", event.at_ms, {"state": event.state})
        elif (name := _OF_EVENTS.get(type(event))) is not None:
            yield self._next(name, event.at_ms, {})

    def of_actions(self, actions: Sequence[act.Action], at_ms: float) -> Iterator[CallEvent]:
        """The events of what the turn engine has decided at this time."""
        stopped_first = sorted(actions, key=lambda action: not isinstance(action, act.CancelReply))
        for action in stopped_first:
            yield from self._of_action(action, at_ms)

    def of_turn(self, report: TurnReport, at_ms: float, misses: Sequence[Miss] = ()) -> CallEvent:
        """The event of a turn that was measured, with the stages that were over budget."""
        fields: JsonObject = {
            "turn": report.turn,
            "voice_to_voice_ms": _rounded(report.voice_to_voice_ms),
            "barge_in_stop_ms": _rounded(report.barge_in_stop_ms),
            "stages_ms": {stage.value: [_rounded(ms) for ms in found] for stage, found in report.durations_ms().items()},
        }
        for name, ms in (("jitter_in_ms", report.facts.jitter_in_ms), ("jitter_out_ms", report.facts.jitter_out_ms)):
            if ms is not None:
                fields[name] = _rounded(ms)
        if report.wait is not None:
            fields["wait_ms"] = {cause.value: _rounded(ms) for cause, ms in report.wait.totals_ms().items()}
            fields["wait"] = [
                [piece.part.value, _rounded(piece.start_ms), _rounded(piece.duration_ms)] for piece in report.wait.contributions
            ]
            fields["typed"] = report.wait.typed
        if misses:
            fields["missed_ms"] = {miss.stage.value: _rounded(miss.limit_ms) for miss in misses}
        return self._next("turn.measured", at_ms, fields)

    def ended(self, at_ms: float, reason: str) -> CallEvent:
        """The last event of a call."""
        return self._next("call.ended", at_ms, {"reason": reason} | ({"detail": self._detail} if self._detail else {}))

    def _of_action(self, action: act.Action, at_ms: float) -> Iterator[CallEvent]:
        match action:
            case act.CallerStarted(utterance_id, onset_ms):
                yield self._next("caller.started", at_ms, {"utterance": utterance_id, "onset_ms": onset_ms})
            case act.CallerStopped(utterance_id, speech_end_ms):
                yield self._next("caller.stopped", at_ms, {"utterance": utterance_id, "speech_end_ms": speech_end_ms})
            case act.CallerPartial(utterance_id, stable, unstable):
                yield _passing("caller.partial", at_ms, {"utterance": utterance_id, "stable": stable, "unstable": unstable})
            case act.CallerFinal(utterance_id, text):
                words = len(text.split())
                yield self._next("caller.said", at_ms, {"utterance": utterance_id, "words": words, "text": text})
            case act.NotUnderstood(utterance_id, _, answer):
                yield self._next("caller.not_understood", at_ms, {"utterance": utterance_id, "answer": answer})
            case act.StepChanged(name):
                yield self._next("step.changed", at_ms, {"step": name})
            case act.Degraded(degradations):
                yield self._next("call.degraded", at_ms, {"degradations": list(degradations)})
            case act.ValueCollected(name, stage, value):
                yield self._next("value.changed", at_ms, {"name": name, "stage": stage} | ({"value": value} if value else {}))
            case act.AgentChanged(agent):
                yield self._next("handoff", at_ms, {"agent": agent})
            case act.LanguageChanged(language):
                yield self._next("language.changed", at_ms, {"language": language})
            case act.ReplyStarted(reply_id, turn):
                yield self._next("agent.started", at_ms, {"reply": reply_id, "turn": turn})
            case act.ReplyText(reply_id, _, text):
                yield _passing("agent.text", at_ms, {"reply": reply_id, "text": text})
            case act.ReplyHeard(reply_id) if reply_id not in self._speaking:
                self._speaking.add(reply_id)
                yield self._next("agent.speaking", at_ms, {"reply": reply_id})
            case act.ReplyHeard(reply_id, heard):
                yield _passing("agent.heard", at_ms, {"reply": reply_id, "heard": heard})
            case act.CancelReply(reply_id):
                yield self._next("agent.stopping", at_ms, {"reply": reply_id})
            case act.ReplyEnded(reply_id, status, heard, unheard):
                self._speaking.discard(reply_id)
                counts = {"words_heard": len(heard.split()), "words_unheard": len(unheard.split())}
                said = {"heard": heard, "unheard": unheard}
                yield self._next("agent.said", at_ms, {"reply": reply_id, "status": status, **counts, **said})
            case act.ToolStarted(reply_id, call_id, name, arguments):
                self._tools[call_id] = at_ms
                yield self._next(
                    "tool.started", at_ms, {"reply": reply_id, "tool_call": call_id, "name": name, "arguments": arguments}
                )
            case act.ToolEnded(reply_id, call_id, name, output, ok):
                took_ms = _rounded(at_ms - self._tools.pop(call_id, at_ms))
                ended = {"name": name, "ok": ok, "took_ms": took_ms, "output": output}
                yield self._next("tool.ended", at_ms, {"reply": reply_id, "tool_call": call_id, **ended})
            case act.GuardHit(reply_id, direction, rule):
                yield self._next("guard.hit", at_ms, {"reply": reply_id, "direction": direction, "rule": rule})
            case act.Transfer(to):
                yield self._next("transfer.started", at_ms, {"to": to} if to else {})
            case act.End(_, detail):
                self._detail = detail
            case act.Failure(code, message):
                yield self._next("failed", at_ms, {"code": code, "message": message})

    def _next(self, name: str, at_ms: float, fields: JsonObject) -> CallEvent:
        self.last += 1
        return CallEvent(self.last, name, at_ms, fields)


def _passing(name: str, at_ms: float, fields: JsonObject) -> CallEvent:
    return CallEvent(0, name, at_ms, fields)


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(float(ms), 1)


PAUSE_MS = 1000.0
"""A caller who speaks on so soon after their own words had not finished: the agent has cut them off."""


@dataclass(slots=True)
class TranscriptEntry:
    """One thing that somebody said or did."""

    at_ms: float
    """From the beginning of the call."""
    who: str
    """caller, agent, tool or call (what happened to it)."""
    text: str = ""
    """Spoken words (the agent's as far as they were heard), or a tool's name."""
    unheard: str = ""
    """The agent's words that were not played."""
    arguments: str = ""
    output: str | None = None
    """A tool's result; None if it gave none."""
    took_ms: float | None = None
    notes: list[str] = field(default_factory=list)
    """Such as `interrupted by the caller`."""


def transcript(lines: Iterable[str]) -> list[TranscriptEntry]:
    """The conversation of a call's events, in the order in which it was heard. A line that cannot be read is left out."""
    reading = _Reading()
    for line in lines:
        try:
            event = msgspec.json.decode(line)
            reading.take(str(event["type"]), float(event["at_ms"]), event)
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError, ValueError):
            continue
    entries = [entry for entry in reading.finish() if entry.text or entry.unheard or entry.notes]
    return sorted(entries, key=lambda entry: entry.at_ms)


@dataclass(slots=True)
class _Reply:
    entry: TranscriptEntry
    is_heard: bool = False
    is_cancelled: bool = False


class _Reading:
    """Takes the events in order."""

    def __init__(self) -> None:
        self._entries: list[TranscriptEntry] = []
        self._onsets: dict[int, float] = {}
        self._latest: int | None = None
        """The utterance that began last."""
        self._callers: dict[int, TranscriptEntry] = {}
        self._ends: dict[int, float] = {}
        self._replies: dict[int, _Reply] = {}
        """Those that go on."""
        self._tools: dict[str, TranscriptEntry] = {}

    def take(self, name: str, at_ms: float, given: JsonObject) -> None:
        """Take one event."""
        if name.startswith("caller."):
            self._of_caller(name, at_ms, given)
        elif name.startswith("agent."):
            self._of_agent(name, at_ms, given)
        elif name.startswith("tool."):
            self._of_tool(name, at_ms, given)
        elif name == "guard.hit" and given["reply"] in self._replies:
            self._replies[given["reply"]].entry.notes.append(f"the guard's line: {given['rule']}")
        elif name in _SAID:
            self._add(at_ms, "call", _SAID[name].format_map({**dict.fromkeys(("message",), ""), **given}).rstrip(", "))

    def finish(self) -> list[TranscriptEntry]:
        """All entries."""
        return self._entries

    def _add(self, at_ms: float, who: str, text: str) -> TranscriptEntry:
        entry = TranscriptEntry(at_ms, who, text)
        self._entries.append(entry)
        return entry

    def _of_caller(self, name: str, at_ms: float, given: JsonObject) -> None:
        if name == "caller.typed":
            self._add(at_ms, "caller", _words(given, "text")).notes.append("typed")
        elif name == "caller.started":
            self._latest = given["utterance"]
            self._onsets[given["utterance"]] = float(given["onset_ms"])
        elif name == "caller.stopped":
            self._ends[given["utterance"]] = float(given["speech_end_ms"])
        elif name == "caller.said":
            entry = self._add(self._onsets.get(given["utterance"], at_ms), "caller", _words(given, "text"))
            self._callers[given["utterance"]] = entry
            if not given["words"]:
                entry.text = ""
                entry.notes.append("nothing was understood")
            if any(reply.is_heard and not reply.is_cancelled for reply in self._replies.values()):
                entry.notes.append("the agent goes on")
        elif name == "caller.not_understood" and given["utterance"] in self._callers:
            self._callers[given["utterance"]].notes.append("it sounds like a turn")
        elif name == "caller.asked_for_person":
            self._add(at_ms, "call", "the caller asks for a person by a key")

    def _of_agent(self, name: str, at_ms: float, given: JsonObject) -> None:
        if name == "agent.started":
            self._replies[given["reply"]] = _Reply(self._add(at_ms, "agent", ""))
            return
        reply = self._replies.get(given["reply"])
        if reply is None and name == "agent.said":  # it began at a server that was killed
            reply = self._replies[given["reply"]] = _Reply(self._add(at_ms, "agent", ""))
        if reply is None:
            return
        if name == "agent.speaking":
            reply.is_heard, reply.entry.at_ms = True, at_ms
        elif name == "agent.stopping":
            reply.is_cancelled = True
        elif name == "agent.said":
            del self._replies[given["reply"]]
            status = str(given["status"])
            if status == "interrupted":
                reply.entry.notes.append(self._interruption(reply))
            elif status != "completed":
                reply.entry.notes.append(status)
            reply.entry.text = _words(given, "heard") if given["words_heard"] else ""
            reply.entry.unheard = _words(given, "unheard") if given["words_unheard"] else ""

    def _interruption(self, reply: _Reply) -> str:
        if not reply.is_heard:
            return "the caller spoke on before the answer"
        if self._latest is None:
            return "interrupted by the caller"
        onset_ms = self._onsets[self._latest]
        ends = (end_ms for utterance, end_ms in self._ends.items() if utterance != self._latest)
        paused_ms = onset_ms - max(ends, default=-PAUSE_MS)
        return "cut the caller off" if paused_ms < PAUSE_MS else "interrupted by the caller"

    def _of_tool(self, name: str, at_ms: float, given: JsonObject) -> None:
        if name == "tool.started":
            entry = self._tools[given["tool_call"]] = self._add(at_ms, "tool", str(given["name"]))
            entry.arguments = str(given.get("arguments", "…"))
        elif name == "tool.ended" and given["tool_call"] in self._tools:
            entry = self._tools[given["tool_call"]]
            entry.output, entry.took_ms = str(given.get("output", "…")), float(given["took_ms"])
            if not given.get("ok", True):
                entry.notes.append("failed")


def _words(given: JsonObject, name: str) -> str:
    """The words, or that they were not kept."""
    if name in given:
        return str(given[name])
    count = given.get({"text": "words"}.get(name, f"words_{name}"))
    return "(words are not kept)" if count is None else f"({count} words)"


_SAID = {
    "call.went_on": "goes on from call {call}, which another server has left",
    "transfer.started": "the caller is transferred to a person",
    "transfer.failed": "nobody has taken the call over",
    "client.changed_instructions": "the client gives new instructions",
    "client.stopped_reply": "the client stops the reply",
    "language.changed": "the language is {language} now",
    "handoff": "{agent} goes on",
    "step.changed": "the step is {step} now",
    "call.degraded": "goes without, to keep the latency budgets: {degradations}",
    "failed": "failed: {code}, {message}",
    "call.ended": "ended: {reason}",
}
