"""A kept call as a conversation: who said what and when, what of it was heard, which tools ran, who interrupted whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from voiceagent.json_types import JsonObject

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
    "transfer.started": "the caller is transferred to a person",
    "transfer.failed": "nobody has taken the call over",
    "client.changed_instructions": "the client gives new instructions",
    "client.stopped_reply": "the client stops the reply",
    "language.changed": "the language is {language} now",
    "failed": "failed: {code}, {message}",
    "call.ended": "ended: {reason}",
}
