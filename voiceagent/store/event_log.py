"""A call's event log: every event that the turn engine was given and what it decided, as JSON Lines, so that `voiceagent replay`
can take the same decisions again. It is kept only if the operator asks for it, because it holds what was said. The first line
holds the rules; every other one is `[event, its fields, [[action, its fields], …]]`. In the store a log has parts, of whole
lines; `voiceagent calls export --event-log` writes it to a file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import msgspec

from voiceagent import __version__
from voiceagent.conversation import actions, events
from voiceagent.conversation.actions import Action, ReplyEnded
from voiceagent.conversation.events import FRAMES, Event
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.state import State
from voiceagent.data_files import private_file
from voiceagent.errors import VoiceAgentError
from voiceagent.store.database import NothingKeptError, StoreAddress, StoreError
from voiceagent.store.schema import matching, reading, several
from voiceagent.store.writer import Statement, StoreWriter

log = logging.getLogger(__name__)

FORMAT = 4
SUFFIX = ".jsonl"
MAX_LOG_BYTES = 64 * 1024 * 1024
"""Several hours of talk; later steps are not kept."""
BUFFER_BYTES = 64 * 1024
MOST_FRAMES = 256
"""Frames of audio that cause no action are encoded together, with the next other step: so many wait at most."""
LOST = "event log steps"
_INSERT = "INSERT INTO voiceagent_event_logs (call_id, part, lines) VALUES (?, ?, ?)"

_ENCODER = msgspec.json.Encoder(enc_hook=float)
"""Times may be NumPy numbers."""


class EventLogError(VoiceAgentError):
    """An event log cannot be read."""


class _Written(msgspec.Struct, frozen=True):
    """The fields of the first line in every format."""

    format: int
    version: str
    """The version of voiceagent that wrote it."""


class Origin(msgspec.Struct, frozen=True):
    """The agent, the leg and the beginning of a call."""

    agent: str = ""
    """The agent's name."""
    leg: str = ""
    """The kind of leg that the call came by."""
    at: float = 0.0
    """The beginning of the call, in Unix seconds."""


class Head(_Written, frozen=True):
    """The first line."""

    call_id: str
    rules: Rules
    origin: Origin = Origin()
    left: State | None = None
    """The state in which another server has left the call."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One step of a recorded call."""

    line: int
    """Its line in the log, from 1."""
    event: Event
    actions: tuple[Action, ...]


class LogSink(Protocol):
    """The place that a log goes to."""

    def put(self, lines: bytes, steps: int) -> bool:
        """Take whole lines, which hold so many steps. Returns False if they are lost, and so the rest of the log."""
        ...

    def lost(self, steps: int) -> None:
        """Count so many more steps as lost."""
        ...


class StoredLog:
    """A log in the store. Implements `LogSink`."""

    def __init__(self, writer: StoreWriter, call_id: str) -> None:
        self._writer = writer
        self._call_id = call_id
        self._parts = 0

    def put(self, lines: bytes, steps: int) -> bool:
        """See `LogSink`."""
        self._parts += 1
        return self._writer.put(LOST, Statement(_INSERT, (self._call_id, self._parts, lines.decode())), items=steps)

    def lost(self, steps: int) -> None:
        """See `LogSink`."""
        self._writer.lost(LOST, steps, "the log has a gap")


class LogFile:
    """A log in a file, for a call that no server answered. Implements `LogSink`."""

    def __init__(self, path: Path) -> None:
        """Begin a new file, which only its owner may read. Raises OSError."""
        self.path = path
        private_file(path)
        path.write_bytes(b"")

    def put(self, lines: bytes, steps: int) -> bool:
        """See `LogSink`. Raises OSError."""
        with self.path.open("ab") as file:
            file.write(lines)
        return True

    def lost(self, steps: int) -> None:
        """See `LogSink`."""


class EventLog:
    """Writes the log of one call. If a part is lost, the rest of the log is lost and counted; the call goes on."""

    def __init__(
        self,
        sink: LogSink,
        call_id: str,
        rules: Rules,
        *,
        most_bytes: int = MAX_LOG_BYTES,
        origin: Origin | None = None,
        left: State | None = None,
    ) -> None:
        """Begin the log. It ends at `most_bytes`."""
        self._sink = sink
        self._call_id = call_id
        self._most_bytes = self._left_bytes = most_bytes
        self._frames: list[list[object]] = []
        """Steps of frames that are not encoded yet."""
        self._buffer = bytearray()
        self._unsaved = 0
        """Steps that are only in the buffer."""
        self._is_on = True
        self._is_lost = False
        """True once a part was lost; later steps would make a log with a gap."""
        self._add([Head(FORMAT, __version__, call_id, rules, origin or Origin(), left)])

    def record(self, event: Event, decided: tuple[Action, ...]) -> None:
        """Note a step. The buffer goes to the sink when a reply ends."""
        if not self._is_on:
            if self._is_lost:
                self._sink.lost(1)
            return
        step = [type(event).__name__, event, [[type(action).__name__, action] for action in decided]]
        if isinstance(event, FRAMES) and not decided and len(self._frames) < MOST_FRAMES:
            self._frames.append(step)
            return
        self._add([*self._frames, step])
        self._frames.clear()
        if any(isinstance(action, ReplyEnded) for action in decided):
            self._flush()

    def close(self) -> None:
        """The call is over. May be called twice."""
        if self._is_on:
            self._add(self._frames)
        self._frames.clear()
        self._flush()
        self._is_on = False

    def _add(self, steps: Sequence[object]) -> None:
        """Encode steps, or the head, while there is room."""
        lines, count = _ENCODER.encode_lines(steps), len(steps)
        is_full = len(lines) >= self._left_bytes  # a log that is full to the byte must say so, too
        if is_full:
            sizes = accumulate(map(len, lines.splitlines(keepends=True)))
            fitting = [size for size in sizes if size < self._left_bytes]
            lines, count = lines[: fitting[-1] if fitting else 0], len(fitting)
        self._left_bytes -= len(lines)
        self._unsaved += count
        self._buffer += lines
        if is_full or len(self._buffer) >= BUFFER_BYTES:
            self._flush()
        if is_full:
            log.warning("%s: the event log ends here, it has reached %d MiB", self._call_id, self._most_bytes >> 20)
            self._is_on = False

    def _flush(self) -> None:
        if self._buffer and not self._sink.put(bytes(self._buffer), self._unsaved):
            self._is_on, self._is_lost = False, True
        self._buffer.clear()
        self._unsaved = 0


# --- reading ------------------------------------------------------------------------------------------------------------


def read_log(address: StoreAddress, call: str) -> tuple[Head, Iterator[Recorded]]:
    """A log's head and its steps, which are read on demand. `call` is an exported file, or a call's id or the beginning of it.
    Raises EventLogError when there is no such log, when there are several, and for an invalid line, also while the steps are
    read. In a file, the last line may be cut short."""
    file = Path(call)
    if file.is_file():
        try:
            return _parsed(call, file.read_bytes().split(b"\n"))
        except OSError as error:
            raise EventLogError(f"{call}: cannot be read ({error.strerror})") from error
    call_id, lines, is_whole = _kept_lines(address, call)
    head, steps = _parsed(call_id, lines)
    return head, steps if is_whole else _cut(call_id, steps)


def log_bytes(address: StoreAddress, call: str) -> bytes:
    """The log of a call as it is exported. Raises EventLogError."""
    return b"\n".join(_kept_lines(address, call)[1])


def logged_calls(address: StoreAddress) -> list[str]:
    """The ids of the calls that have an event log. Raises StoreError."""
    with reading(address) as database:
        return [str(call_id) for (call_id,) in database.execute("SELECT DISTINCT call_id FROM voiceagent_event_logs")]


def _kept_lines(address: StoreAddress, call: str) -> tuple[str, list[bytes], bool]:
    """The call's id, the lines of its log, and False if a part of it was lost."""
    try:
        known = matching(logged_calls(address), call)
        if len(known) > 1:
            raise EventLogError(several(known, call))
        rows = []
        if known:
            with reading(address) as database:
                query = "SELECT part, lines FROM voiceagent_event_logs WHERE call_id = ? ORDER BY part"
                rows = database.execute(query, known)
    except NothingKeptError:
        rows = []
    except StoreError as error:
        raise EventLogError(str(error)) from error
    whole = [str(lines) for number, (part, lines) in enumerate(rows, 1) if part == number]
    if not whole:
        raise EventLogError(
            f"no event log of a call {call[:80]!r} in {address}; expected a file, or an id or its beginning, as `voiceagent "
            "calls list` shows them. Logs are kept where records.keep is event_logs, or by `voiceagent serve --event-logs N`"
        )
    return known[0], "".join(whole).encode().split(b"\n"), len(whole) == len(rows)


def _cut(call_id: str, steps: Iterator[Recorded]) -> Iterator[Recorded]:
    yield from steps
    raise EventLogError(f"{call_id}: a part of the event log is missing, because it could not be written in time")


def _parsed(name: str, lines: list[bytes]) -> tuple[Head, Iterator[Recorded]]:
    try:
        written = msgspec.json.decode(lines[0], type=_Written)
        if written.format != FORMAT:
            raise EventLogError(
                f"{name}:1: has format {written.format}, of voiceagent {written.version}; this one reads format {FORMAT}"
            )
        head = msgspec.json.decode(lines[0], type=Head)
    except msgspec.DecodeError as error:
        raise EventLogError(
            f"{name}:1: is not an event log ({error}); expected one that `voiceagent calls export --event-log` wrote"
        ) from error
    return head, _steps(name, lines[1:])


_Step = tuple[str, dict[str, object], list[tuple[str, dict[str, object]]]]
"""An event's name and fields, and the actions that it had."""


def _steps(name: str, lines: list[bytes]) -> Iterator[Recorded]:
    for number, line in enumerate(lines, start=2):
        if number == len(lines) + 1:  # what follows the last line break: nothing, or a line that was cut short
            return
        try:
            kind, fields, decided = msgspec.json.decode(line, type=_Step)
            event = msgspec.convert(fields, _EVENTS[kind])
            taken = tuple(msgspec.convert(given, _ACTIONS[action]) for action, given in decided)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise EventLogError(f"{name}:{number}: is not a step of a call ({error})") from error
        except KeyError as error:
            raise EventLogError(f"{name}:{number}: names {error}, which this voiceagent does not know") from error
        yield Recorded(number, event, taken)


def _kinds(module: object, base: type) -> Mapping[str, object]:
    return {name: kind for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base)}


_EVENTS = _kinds(events, Event)
_ACTIONS = _kinds(actions, Action)
