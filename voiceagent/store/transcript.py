"""A kept call as a conversation: who said what and when, what of it was heard, which tools ran, who interrupted whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.json_types import JsonObject
from voiceagent.store.kept_call import KeptCall, KeptStep

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


def transcript(call: KeptCall) -> list[TranscriptEntry]:
    """The conversation, in the order in which it was heard. A step that cannot be read is noted in `call.problems`."""
    reading = _Reading()
    for step in call.steps:
        try:
            reading.take(step)
        except (AttributeError, KeyError, TypeError, ValueError):
            call.problems.append(f"line {step.line} is damaged")
    entries = [entry for entry in reading.finish() if entry.text or entry.unheard or entry.notes]
    return sorted(entries, key=lambda entry: entry.at_ms)


@dataclass(slots=True)
class _Reply:
    entry: TranscriptEntry
    clauses: list[str] = field(default_factory=list)
    heard: str = ""
    first_heard_ms: float | None = None
    is_cancelled: bool = False


class _Reading:
    """Takes the steps in order."""

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

    def take(self, step: KeptStep) -> None:
        """One event, and what was decided."""
        at_ms, fields = step.at_ms, step.fields
        if step.name == "TextReceived":
            self._add(at_ms, "caller", str(fields.get("text", ""))).notes.append("typed")
        elif step.name in _SAID_OF_EVENTS:
            self._add(at_ms, "call", _SAID_OF_EVENTS[step.name])
        for name, _ in step.actions:
            if name == "CancelReply":
                for reply in self._replies.values():
                    reply.is_cancelled = True
        for name, given in step.actions:
            self._action(name, given, at_ms)

    def finish(self) -> list[TranscriptEntry]:
        """All entries; what is still open ends here."""
        for reply in self._replies.values():
            said = " ".join(reply.clauses).split()
            self._close(reply, reply.heard, " ".join(said[len(reply.heard.split()) :]))
        return self._entries

    def _add(self, at_ms: float, who: str, text: str) -> TranscriptEntry:
        entry = TranscriptEntry(at_ms, who, text)
        self._entries.append(entry)
        return entry

    def _action(self, name: str, given: JsonObject, at_ms: float) -> None:
        reply = self._replies.get(given.get("reply_id", -1))
        if name == "CallerStarted":
            self._latest = given["utterance_id"]
            self._onsets[given["utterance_id"]] = float(given.get("onset_ms", at_ms))
        elif name == "CallerStopped":
            self._ends[given["utterance_id"]] = float(given.get("speech_end_ms", at_ms))
        elif name == "CallerFinal":
            self._caller(given, at_ms)
        elif name == "NotUnderstood" and given["utterance_id"] in self._callers:
            self._callers[given["utterance_id"]].notes.append("it sounds like a turn")
        elif name == "ReplyStarted":
            self._replies[given["reply_id"]] = _Reply(self._add(at_ms, "agent", ""))
        elif name.startswith("Tool"):
            self._tool(name, given, at_ms)
        elif name in ("Failure", "LanguageChanged", "PutThrough", "End"):
            self._call(name, given, at_ms)
        elif reply is not None:
            self._reply(name, given, reply, at_ms)

    def _caller(self, given: JsonObject, at_ms: float) -> None:
        entry = self._add(self._onsets.get(given["utterance_id"], at_ms), "caller", str(given.get("text", "")))
        self._callers[given["utterance_id"]] = entry
        if not entry.text:
            entry.notes.append("nothing was understood")
        if any(not reply.is_cancelled and reply.first_heard_ms is not None for reply in self._replies.values()):
            entry.notes.append("the agent goes on")

    def _reply(self, name: str, given: JsonObject, reply: _Reply, at_ms: float) -> None:
        if name == "ReplyText":
            reply.clauses.append(str(given.get("text", "")))
        elif name == "ReplyHeard":
            reply.heard = str(given.get("heard", ""))
            if reply.first_heard_ms is None:
                reply.first_heard_ms = reply.entry.at_ms = at_ms
        elif name == "GuardHit":
            reply.entry.notes.append(f"the guard's line: {given.get('rule', '')}")
        elif name == "ReplyEnded":
            del self._replies[given["reply_id"]]
            status = str(given.get("status", ""))
            if status == "interrupted":
                reply.entry.notes.append(self._interruption(reply))
            elif status != "completed":
                reply.entry.notes.append(status)
            self._close(reply, str(given.get("heard", "")), str(given.get("unheard", "")))

    def _interruption(self, reply: _Reply) -> str:
        if reply.first_heard_ms is None:
            return "the caller spoke on before the answer"
        if self._latest is None:
            return "interrupted by the caller"
        onset_ms = self._onsets[self._latest]
        ends = (end_ms for utterance, end_ms in self._ends.items() if utterance != self._latest)
        paused_ms = onset_ms - max(ends, default=-PAUSE_MS)
        return "cut the caller off" if paused_ms < PAUSE_MS else "interrupted by the caller"

    def _close(self, reply: _Reply, heard: str, unheard: str) -> None:
        reply.entry.text, reply.entry.unheard = heard, unheard

    def _tool(self, name: str, given: JsonObject, at_ms: float) -> None:
        if name == "ToolStarted":
            entry = self._tools[given["call_id"]] = self._add(at_ms, "tool", str(given.get("name", "")))
            entry.arguments = str(given.get("arguments", ""))
        elif name == "ToolEnded" and given["call_id"] in self._tools:
            entry = self._tools[given["call_id"]]
            entry.output, entry.took_ms = str(given.get("output", "")), at_ms - entry.at_ms
            if not given.get("ok", True):
                entry.notes.append("failed")

    def _call(self, name: str, given: JsonObject, at_ms: float) -> None:
        said = {
            "Failure": f"failed: {given.get('code', '')}, {given.get('message', '')}",
            "LanguageChanged": f"the language is {given.get('language', '')} now",
            "PutThrough": "the caller is transferred to a person",
            "End": f"ended: {given.get('reason', '')}",
        }
        self._add(at_ms, "call", said[name])


_SAID_OF_EVENTS = {
    "PersonRequested": "the caller asks for a person by a key",
    "PutThroughFailed": "nobody has taken the call over",
    "InstructionsChanged": "the client gives new instructions",
    "ReplyCancelled": "the client stops the reply",
}
