"""A call's event log: every event that the turn engine was given and what it decided, as JSON Lines, so that `voiceagent replay`
can take the same decisions again. It is kept only if the operator asks for it, because it holds what was said. The first line
holds the rules; every other one is `[event, its fields, [[action, its fields], …]]`."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from voiceagent import __version__
from voiceagent.conversation import actions, events
from voiceagent.conversation.actions import Action, ReplyEnded
from voiceagent.conversation.events import Event
from voiceagent.conversation.rules import Rules
from voiceagent.errors import VoiceAgentError
from voiceagent.private_files import FILE_MODE, private_folder
from voiceagent.store.call_ids import matching, several
from voiceagent.store.losses import Losses

FORMAT = 3
SUFFIX = ".jsonl"
MAX_LOG_BYTES = 64 * 1024 * 1024
"""Several hours of talk; later steps are not kept."""
BUFFER_BYTES = 64 * 1024
LOST = "event log steps"

log = logging.getLogger(__name__)
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """One step of a recorded call."""

    line: int
    """Its line in the file, from 1."""
    event: Event
    actions: tuple[Action, ...]


def event_logs_dir(data_dir: Path) -> Path:
    """The folder of the logs inside the data folder."""
    return data_dir / "calls"


class EventLog:
    """Writes the log of one call. If the disk fails, the rest of the log is lost and counted; the call goes on."""

    def __init__(
        self,
        folder: Path,
        call_id: str,
        rules: Rules,
        *,
        keep: int | None = None,
        most_bytes: int = MAX_LOG_BYTES,
        losses: Losses | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Begin the log in `folder`, which is made when missing. With `keep` only this many logs stay there: the newest, and
        those that are still being written. The log ends at `most_bytes`."""
        self.path = folder / f"{call_id}{SUFFIX}"
        self._keep = keep
        self._losses = losses or Losses()
        self._most_bytes = self._left_bytes = most_bytes
        self._unsaved = 0
        """Steps that are only in the buffer."""
        self._why_lost = ""
        """Set once the disk has refused something; later steps would make a log with a gap."""
        try:
            private_folder(folder)
            self._prune(1)
            self._file = _opened(self.path)
        except OSError as error:
            self._left_bytes = 0
            self._lost(error)
        else:
            self._write(_ENCODER.encode(Head(FORMAT, __version__, call_id, rules, origin or Origin())))

    def record(self, event: Event, decided: tuple[Action, ...]) -> None:
        """Note a step. The buffer goes to disk when a reply ends."""
        if self._left_bytes:
            named = [[type(action).__name__, action] for action in decided]
            self._write(_ENCODER.encode([type(event).__name__, event, named]))
            if self._left_bytes and any(isinstance(action, ReplyEnded) for action in decided):
                self._flush()
        elif self._why_lost:
            self._losses.add(LOST, 1, self._why_lost)

    def close(self) -> None:
        """The call is over. May be called twice."""
        if self._left_bytes:
            self._flush()
            self._end()
            with suppress(OSError):  # the next log tries again
                self._prune(0)

    def _write(self, line: bytes) -> None:
        if len(line) + 1 >= self._left_bytes:  # a log that is full to the byte must say so, too
            log.warning("%s: the event log ends here, it has reached %d MiB", self.path, self._most_bytes >> 20)
            self.close()
            return
        self._left_bytes -= len(line) + 1
        self._unsaved += 1
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            self._lost(error)
            self._end()

    def _flush(self) -> None:
        try:
            self._file.flush()
            self._unsaved = 0
        except OSError as error:
            self._lost(error)
            self._end()

    def _end(self) -> None:
        self._left_bytes = 0
        _WRITTEN.discard(self.path)
        try:
            self._file.close()
        except OSError:
            log.debug("%s: could not be closed", self.path)

    def _lost(self, error: OSError) -> None:
        self._why_lost = f"{self.path}: the event log is not kept ({error.strerror}); make room there, or choose $VOICEAGENT_DATA"
        self._losses.add(LOST, max(1, self._unsaved), self._why_lost)

    def _prune(self, more: int) -> None:
        """Make room for `more` logs. Logs that this or another process still writes stay."""
        if self._keep is None:
            return
        logs = sorted(self.path.parent.glob(f"*{SUFFIX}"), key=_written_s)
        for old in logs[: max(0, len(logs) + more - self._keep)]:
            if not is_written(old):
                old.unlink(missing_ok=True)


_WRITTEN: set[Path] = set()
"""The logs that this process writes. Other processes' logs are known by their locks, which network file systems keep by
process."""


def _opened(path: Path) -> BinaryIO:
    """A new, private file, locked for as long as it is open. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags, FILE_MODE), "wb", buffering=BUFFER_BYTES)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _WRITTEN.add(path)
    return file


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another server has made room
        return 0.0


def is_written(path: Path) -> bool:
    """True while a call that goes on is written to this file. Raises OSError."""
    if path in _WRITTEN:
        return True
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


# --- reading ------------------------------------------------------------------------------------------------------------


def find_log(folder: Path, call: str) -> Path:
    """The file of a call, given as a file, or by its id or the beginning of it. Raises EventLogError when there is none, or more
    than one."""
    file = Path(call)
    if file.is_file():
        return file
    logs = {path.stem: path for path in folder.glob(f"*{SUFFIX}") if path.is_file()}
    found = matching(logs, call)
    if len(found) == 1:
        return logs[found[0]]
    if found:
        raise EventLogError(several(found, call))
    raise EventLogError(
        f"no event log of a call {call[:80]!r} in {folder}; expected a file, or an id or its beginning, as `voiceagent calls "
        "list` shows them. Logs are kept only by `voiceagent serve --event-logs N`"
    )


def read_log(file: Path) -> tuple[Head, Iterator[Recorded]]:
    """A log's head and its steps, which are read on demand. Raises EventLogError for an invalid line, also while the steps are
    read. The last line may be cut short, as when the server was killed."""
    try:
        lines = file.read_bytes().split(b"\n")
        written = msgspec.json.decode(lines[0], type=_Written)
        if written.format != FORMAT:
            raise EventLogError(
                f"{file}:1: has format {written.format}, of voiceagent {written.version}; this one reads format {FORMAT}"
            )
        head = msgspec.json.decode(lines[0], type=Head)
    except OSError as error:
        raise EventLogError(f"{file}: cannot be read ({error.strerror})") from error
    except msgspec.DecodeError as error:
        raise EventLogError(
            f"{file}:1: is not an event log ({error}); expected a file that `serve --event-logs` wrote"
        ) from error
    return head, _steps(file, lines[1:])


_Step = tuple[str, dict[str, object], list[tuple[str, dict[str, object]]]]
"""An event's name and fields, and the actions that it had."""


def _steps(file: Path, lines: list[bytes]) -> Iterator[Recorded]:
    for number, line in enumerate(lines, start=2):
        if number == len(lines) + 1:  # what follows the last line break: nothing, or a line that was cut short
            return
        try:
            kind, fields, decided = msgspec.json.decode(line, type=_Step)
            event = msgspec.convert(fields, _EVENTS[kind])
            taken = tuple(msgspec.convert(given, _ACTIONS[name]) for name, given in decided)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise EventLogError(f"{file}:{number}: is not a step of a call ({error})") from error
        except KeyError as error:
            raise EventLogError(f"{file}:{number}: names {error}, which this voiceagent does not know") from error
        yield Recorded(number, event, taken)


def _kinds(module: object, base: type) -> Mapping[str, object]:
    return {name: kind for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base)}


_EVENTS = _kinds(events, Event)
_ACTIONS = _kinds(actions, Action)
