"""A call as people follow it: who said what, what was heard, which tools ran, how long each turn took, why the call ended. The
events are made of what the turn engine decides. They are numbered from 1, are kept where the operator wants that, and go to
monitors. What only shows progress (words that may change, the words heard so far) goes to monitors alone, and has no number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import TurnReport

WORDS = frozenset(["text", "stable", "unstable", "heard", "unheard", "arguments", "output", "message", "state", "detail"])
"""Fields that hold what was said, or what tools were given and have answered."""
_OF_EVENTS: dict[type[ev.Event], str] = {
    ev.ConnectionLost: "connection.lost",
    ev.ConnectionResumed: "connection.resumed",
    ev.PersonRequested: "caller.asked_for_person",
    ev.TransferFailed: "transfer.failed",
    ev.InstructionsChanged: "client.changed_instructions",
    ev.ReplyCancelled: "client.stopped_reply",
}
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

    def line(self, *, words: bool = True) -> bytes:
        """The event as JSON in one line; without `words`, nothing that was said stands in it."""
        fields = self.fields if words else {name: value for name, value in self.fields.items() if name not in WORDS}
        number = {"number": self.number} if self.number else {}
        return _ENCODER.encode({"type": self.type, **number, "at_ms": round(self.at_ms, 1), **fields})


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

    def of_step(self, event: ev.Event, actions: Sequence[act.Action]) -> Iterator[CallEvent]:
        """The events of one step of the turn engine."""
        at_ms = event.at_ms
        if isinstance(event, ev.TextReceived):
            yield self._next("caller.typed", at_ms, {"text": event.text})
        elif isinstance(event, ev.CallStateKept):
            yield self._next("state.kept", at_ms, {"state": event.state})
        elif (name := _OF_EVENTS.get(type(event))) is not None:
            yield self._next(name, at_ms, {})
        stopped_first = sorted(actions, key=lambda action: not isinstance(action, act.CancelReply))
        for action in stopped_first:
            yield from self._of_action(action, at_ms)

    def of_turn(self, report: TurnReport, at_ms: float) -> CallEvent:
        """The event of a turn that was measured."""
        fields: JsonObject = {
            "turn": report.turn,
            "voice_to_voice_ms": _rounded(report.voice_to_voice_ms),
            "barge_in_stop_ms": _rounded(report.barge_in_stop_ms),
            "stages_ms": {stage.value: [_rounded(ms) for ms in found] for stage, found in report.durations_ms().items()},
        }
        if report.wait is not None:
            fields["wait_ms"] = {cause.value: _rounded(ms) for cause, ms in report.wait.totals_ms().items()}
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
