"""A kept call, read for people. What is damaged, cut short or of another version is left out and named; the rest is read. (To
decide again, `read_log` needs every line.)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.store.event_log import SUFFIX, EventLogError, is_written

LATEST_S = 4e9
LONGEST_MS = 1e10
"""Later and longer than any call: times beyond are damage."""


@dataclass(frozen=True, slots=True)
class KeptStep:
    """An event and what was decided upon it, by name. `fields` are as they were written."""

    line: int
    """Its line in the file, from 1."""
    name: str
    at_ms: float
    fields: JsonObject
    actions: tuple[tuple[str, JsonObject], ...]


@dataclass(slots=True)
class KeptCall:
    """The readable part of a call's log."""

    call_id: str
    agent: str = ""
    leg: str = ""
    """The kind of leg that the call came by; empty in logs that do not name it."""
    at: float = 0.0
    """The beginning of the call, in Unix seconds."""
    steps: list[KeptStep] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """The unreadable parts, one line each."""
    goes_on: bool = False

    @property
    def length_ms(self) -> float:
        """From the beginning to the last event."""
        return max((step.at_ms for step in self.steps), default=0.0)

    @property
    def turns(self) -> int:
        """The number of the caller's turns for which a reply was begun."""
        begun = (given.get("turn") for name, given in self._actions() if name == "ReplyStarted")
        return len({turn for turn in begun if isinstance(turn, int) and turn > 0})

    @property
    def ended(self) -> str:
        """The reason why the call ended; empty if the log does not hold it."""
        return next((str(given.get("reason", "")) for name, given in self._actions() if name == "End"), "")

    @property
    def problem(self) -> str:
        """All that cannot be read, in one line; empty if everything can."""
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"{self.problems[0]}{more}" if self.problems else ""

    def _actions(self) -> Iterator[tuple[str, JsonObject]]:
        for step in self.steps:
            yield from step.actions


def kept_calls(folder: Path) -> list[Path]:
    """The logs in a folder, newest first."""
    written = []
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            if path.is_file():
                written.append((path.stat().st_mtime, path))
        except FileNotFoundError:  # a server has made room
            continue
    return [path for _, path in sorted(written, reverse=True)]


def read_kept(file: Path) -> KeptCall:
    """All of a log that can be read. Raises EventLogError when the file cannot be opened."""
    call = KeptCall(file.stem)
    try:
        lines = file.read_bytes().split(b"\n")
        call.goes_on = is_written(file)
        changed = file.stat().st_mtime
    except OSError as error:
        raise EventLogError(f"{file}: cannot be read ({error.strerror})") from error
    _head(call, lines[0])
    for number, line in enumerate(lines[1:], start=2):
        if number < len(lines) or line:
            _step(call, number, line, is_last=number == len(lines))
    call.at = call.at or changed - call.length_ms / 1000
    return call


def _head(call: KeptCall, line: bytes) -> None:
    try:
        head = msgspec.json.decode(line)
        origin = head.get("origin") or {}
        call.call_id = str(head.get("call_id") or call.call_id)
        call.agent, call.leg = str(origin.get("agent", "")), str(origin.get("leg", ""))
        call.at = min(float(origin.get("at", 0.0)), LATEST_S)
    except (msgspec.DecodeError, AttributeError, TypeError, ValueError):
        call.problems.append("line 1 is not the beginning of an event log")


def _step(call: KeptCall, number: int, line: bytes, *, is_last: bool) -> None:
    """Add a line; what follows the last line break was cut short."""
    try:
        name, fields, decided = msgspec.json.decode(line, type=_Line)
        at_ms = float(fields["at_ms"])
        if not 0.0 <= at_ms <= LONGEST_MS:
            raise ValueError("no time of a call")
        call.steps.append(KeptStep(number, name, at_ms, fields, tuple(decided)))
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        if not (is_last and call.goes_on):
            call.problems.append(f"line {number} {'is cut short' if is_last else 'is damaged'}")


_Line = tuple[str, JsonObject, list[tuple[str, JsonObject]]]
