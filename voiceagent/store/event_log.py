"""A call's event log: every event that the turn engine was given and what it decided, as JSON Lines, so that `voiceagent replay`
can take the same decisions again. Kept only where the operator asks for it, because it holds what was said. The first line
holds the rules; every other one is `[event, its fields, [[action, its fields], …]]`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from voiceagent import __version__
from voiceagent.conversation import actions, events
from voiceagent.conversation.actions import Action, ReplyEnded
from voiceagent.conversation.events import Event
from voiceagent.conversation.state import Rules
from voiceagent.errors import VoiceAgentError

FORMAT = 1
SUFFIX = ".jsonl"
MAX_LOG_BYTES = 64 * 1024 * 1024
"""Several hours of talk; what comes after is not kept."""
BUFFER_BYTES = 64 * 1024

log = logging.getLogger(__name__)
_ENCODER = msgspec.json.Encoder(enc_hook=float)
"""Times may be numpy's numbers."""
_CALL_ID = re.compile(r"\w[\w-]{0,79}")


class EventLogError(VoiceAgentError):
    """An event log cannot be read."""


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    format: int
    version: str
    """Of the voiceagent that wrote it."""
    call_id: str
    rules: Rules


@dataclass(frozen=True, slots=True)
class Recorded:
    """One step of a recorded call."""

    line: int
    """In the file, from 1."""
    event: Event
    actions: tuple[Action, ...]


def event_logs_dir(data_dir: Path) -> Path:
    """Where the logs lie inside the data folder."""
    return data_dir / "calls"


class EventLog:
    """Writes the log of one call. A disk that cannot take it costs the log, told in one line, and never the call."""

    def __init__(self, folder: Path, call_id: str, rules: Rules, *, keep: int | None = None) -> None:
        """Begin the log in `folder`, which is made when missing. With `keep` only so many logs stay there, the newest."""
        self.path = folder / f"{call_id}{SUFFIX}"
        self._left_bytes = MAX_LOG_BYTES
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if keep is not None:
                _prune(folder, keep - 1)
            self._file = self.path.open("wb", buffering=BUFFER_BYTES)
        except OSError as error:
            self._left_bytes = 0
            self._lost(error)
        else:
            self._write(_ENCODER.encode(Head(FORMAT, __version__, call_id, rules)))

    def record(self, event: Event, decided: tuple[Action, ...]) -> None:
        """Note a step. What is buffered goes to disk when a reply ends."""
        if self._left_bytes:
            named = [[type(action).__name__, action] for action in decided]
            self._write(_ENCODER.encode([type(event).__name__, event, named]))
            if self._left_bytes and any(isinstance(action, ReplyEnded) for action in decided):
                self._flush()

    def close(self) -> None:
        """The call is over. May be called twice."""
        if self._left_bytes:
            self._flush()
            self._end()

    def _write(self, line: bytes) -> None:
        if len(line) >= self._left_bytes:
            log.warning("%s: the event log ends here, it has reached %d MiB", self.path, MAX_LOG_BYTES >> 20)
            self.close()
            return
        self._left_bytes -= len(line) + 1
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            self._lost(error)
            self._end()

    def _flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            self._lost(error)
            self._end()

    def _end(self) -> None:
        self._left_bytes = 0
        try:
            self._file.close()
        except OSError:
            log.debug("%s: could not be closed", self.path)

    def _lost(self, error: OSError) -> None:
        log.warning("%s: the event log is not kept (%s); make room there, or choose $VOICEAGENT_DATA", self.path, error.strerror)


def _prune(folder: Path, keep: int) -> None:
    logs = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
    for old in logs[: max(0, len(logs) - keep)]:
        old.unlink(missing_ok=True)


# --- reading ------------------------------------------------------------------------------------------------------------


def find_log(folder: Path, call: str) -> Path:
    """The file of a call, which is named by its id or is a file itself. Raises EventLogError when there is none."""
    file = Path(call)
    if file.is_file():
        return file
    named = folder / f"{call}{SUFFIX}"
    if _CALL_ID.fullmatch(call) and named.is_file():
        return named
    raise EventLogError(
        f"no event log of a call {call[:80]!r} in {folder}; expected a file or a call's id. Logs are kept only by "
        "`voiceagent serve --event-logs N`"
    )


def read_log(file: Path) -> tuple[Head, Iterator[Recorded]]:
    """A log's head and its steps, read as they are asked for. Raises EventLogError, also while they are read, for a line that
    is not one; the last line may be cut short, as when the server was killed."""
    try:
        lines = file.read_bytes().split(b"\n")
        head = msgspec.json.decode(lines[0], type=Head)
    except OSError as error:
        raise EventLogError(f"{file}: cannot be read ({error.strerror})") from error
    except msgspec.DecodeError as error:
        raise EventLogError(
            f"{file}:1: is not an event log ({error}); expected a file that `serve --event-logs` wrote"
        ) from error
    if head.format != FORMAT:
        raise EventLogError(f"{file}:1: has format {head.format}, of voiceagent {head.version}; this one reads format {FORMAT}")
    return head, _steps(file, lines[1:])


def _steps(file: Path, lines: list[bytes]) -> Iterator[Recorded]:
    for number, line in enumerate(lines, start=2):
        if number == len(lines) + 1:  # what follows the last line break: nothing, or a line that was cut short
            return
        try:
            kind, fields, decided = msgspec.json.decode(line, type=tuple[str, dict[str, Any], list[tuple[str, dict[str, Any]]]])
            event = msgspec.convert(fields, _EVENTS[kind])
            taken = tuple(msgspec.convert(given, _ACTIONS[name]) for name, given in decided)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise EventLogError(f"{file}:{number}: is not a step of a call ({error})") from error
        except KeyError as error:
            raise EventLogError(f"{file}:{number}: names {error}, which this voiceagent does not know") from error
        yield Recorded(number, event, taken)


def _named(module: Any, base: type) -> Mapping[str, Any]:
    return {name: kind for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base)}


_EVENTS = _named(events, Event)
_ACTIONS = _named(actions, Action)
