"""Turn measurements on disk: a SQLite file with the times of the last 10,000 turns, no words and no audio. Reports come in from
the event loop and are written by one thread behind a bounded queue. If a database is corrupt, locked or not writable,
measurements are lost, counted and reported (see `losses`); calls go on."""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections import deque
from contextlib import closing
from pathlib import Path

from voiceagent.databases import is_locked, open_patiently
from voiceagent.errors import VoiceAgentError
from voiceagent.latency.spans import LegKind, Span, Stage, TurnReport
from voiceagent.latency.wait import Contribution, Wait, WaitCause
from voiceagent.private_files import private_file
from voiceagent.store.call_ids import matching, several
from voiceagent.store.losses import Losses

MAX_TURNS = 10_000
MAX_QUEUED = 1_000
BUSY_TIMEOUT_S = 2.0
CLOSE_TIMEOUT_S = 5.0
SCHEMA_VERSION = 1
FILE_NAME = "turns.sqlite3"
LOST = "measured turns"

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    call_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    at REAL NOT NULL,
    profile TEXT NOT NULL,
    voice_to_voice_ms REAL,
    barge_in_stop_ms REAL,
    spans TEXT NOT NULL,
    leg TEXT NOT NULL,
    wait TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS turns_of_a_call ON turns (call_id, turn);
PRAGMA user_version = {SCHEMA_VERSION};
"""
_COLUMNS = "call_id, turn, at, profile, voice_to_voice_ms, barge_in_stop_ms, spans, leg, wait"
_INSERT = f"INSERT INTO turns ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PRUNE = "DELETE FROM turns WHERE id <= (SELECT max(id) FROM turns) - ?"


class StoreError(VoiceAgentError):
    """The database of turn measurements cannot be read."""


def turns_file(data_dir: Path) -> Path:
    """The database inside the data folder."""
    return data_dir / FILE_NAME


class TurnStore:
    """Writes turn reports. All methods may be called from the event loop: only `close` waits (at most five seconds)."""

    def __init__(
        self,
        file: Path,
        losses: Losses | None = None,
        *,
        most_turns: int = MAX_TURNS,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> None:
        """Start the writer on `file`, which is made with its folder when missing and keeps the newest `most_turns`. It waits for
        another program that holds the file, up to `busy_timeout_s`. Raises nothing: what cannot be written is counted in
        `losses`."""
        self.file = file
        self._most_turns, self._busy_timeout_s = most_turns, busy_timeout_s
        self._losses = losses or Losses()
        self.written = 0
        self.dropped = 0
        """Reports that were lost: the queue was full, or the database could not take them."""
        self._queue: deque[TurnReport] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="turn-store", daemon=True)
        self._thread.start()

    def put(self, report: TurnReport) -> bool:
        """Queue a report; False when it was dropped because a thousand already wait or the store is closed."""
        with self._changed:
            if self._closing or len(self._queue) >= MAX_QUEUED:
                self.dropped += 1
                return False
            self._queue.append(report)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Write what is queued and end the thread. May be called twice."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        database: sqlite3.Connection | None = None
        while batch := self._next_batch():
            try:
                database = database or _open_for_writing(self.file, self._busy_timeout_s)
                with database:
                    database.executemany(_INSERT, [_row(report) for report in batch])
                    database.execute(_PRUNE, (self._most_turns,))
            except (sqlite3.Error, OSError) as error:
                self._lost(len(batch), error)
                if database is not None:
                    database.close()
                    database = None
            else:
                self.written += len(batch)
        if database is not None:
            database.close()

    def _next_batch(self) -> list[TurnReport]:
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait()
            batch = list(self._queue)
            self._queue.clear()
            return batch

    def _lost(self, count: int, error: sqlite3.Error | OSError) -> None:
        with self._changed:
            self.dropped += count
        self._losses.add(LOST, count, f"{self.file}: turn measurements are not kept ({_reason(error)}); {_advice(error)}")


def read_turns(
    file: Path, *, last: int = MAX_TURNS, call_id: str = "", profile: str = "", leg: str = ""
) -> tuple[TurnReport, ...]:
    """The newest `last` turns, oldest first; only those of a call (its id, or the beginning of it), a profile or a leg if one is
    named. Raises StoreError when the database is missing, corrupt, or of another version, or when several calls begin so."""
    if not file.exists():
        raise StoreError(f"{file}: no turn was measured yet; run `voiceagent serve` and make a call")
    conditions = {"call_id": call_id, "profile": profile, "leg": leg}
    wanted = {column: value for column, value in conditions.items() if value}
    where = f"WHERE {' AND '.join(f'{column} = :{column}' for column in wanted)}" if wanted else ""
    query = f"{where} ORDER BY id DESC LIMIT :last"
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as database:
            _check_version(database)
            if call_id:
                wanted["call_id"] = _whole_id(database, call_id)
            rows = database.execute(f"SELECT {_COLUMNS} FROM turns {query}", {**wanted, "last": last}).fetchall()
        return tuple(_report(row) for row in reversed(rows))
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file}: cannot be read ({_reason(error)}); {_advice(error)}") from error


def _whole_id(database: sqlite3.Connection, wanted: str) -> str:
    found = matching((call_id for (call_id,) in database.execute("SELECT DISTINCT call_id FROM turns")), wanted)
    if len(found) > 1:
        raise StoreError(several(found, wanted))
    return found[0] if found else wanted


def _open_for_writing(file: Path, busy_timeout_s: float) -> sqlite3.Connection:
    private_file(file)
    return open_patiently(lambda: _opened(file, busy_timeout_s), busy_timeout_s)


def _opened(file: Path, busy_timeout_s: float) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=busy_timeout_s)
    try:
        _check_version(database)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_SCHEMA)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _check_version(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise sqlite3.DatabaseError(f"a newer voiceagent wrote it, as version {version}; this one knows {SCHEMA_VERSION}")


def _row(report: TurnReport) -> tuple[str | int | float | None, ...]:
    spans = json.dumps([[span.stage.value, round(span.start_ms, 2), round(span.duration_ms, 2)] for span in report.spans])
    wholes = (report.voice_to_voice_ms, report.barge_in_stop_ms)
    wait = "" if report.wait is None else _wait_row(report.wait)
    return (report.call_id, report.turn, report.at, report.profile, *wholes, spans, report.leg, wait)


def _wait_row(wait: Wait) -> str:
    pieces = [[piece.part.value, piece.start_ms, piece.duration_ms] for piece in wait.contributions]
    return json.dumps([wait.began_ms, wait.typed, pieces])


def _report(row: tuple[str, int, float, str, float | None, float | None, str, str, str]) -> TurnReport:
    call_id, turn, at, profile, voice_to_voice_ms, barge_in_stop_ms, spans, leg, wait = row
    measured = tuple(Span(Stage(stage), start_ms, duration_ms) for stage, start_ms, duration_ms in json.loads(spans))
    waited = _wait(wait) if wait else None
    return TurnReport(call_id, turn, at, profile, measured, voice_to_voice_ms, barge_in_stop_ms, LegKind(leg), waited)


def _wait(text: str) -> Wait:
    began_ms, typed, pieces = json.loads(text)
    contributions = tuple(Contribution(WaitCause(part), start_ms, duration_ms) for part, start_ms, duration_ms in pieces)
    return Wait(began_ms, contributions, typed)


def _reason(error: Exception) -> str:
    text = (error.strerror or "") if isinstance(error, OSError) else ""
    return " ".join((text or str(error) or type(error).__name__).split())


def _advice(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError) and is_locked(error):
        return "another program holds it: end that program"
    if "disk is full" in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return "make room there, or choose another folder with $VOICEAGENT_DATA"
    if isinstance(error, (sqlite3.OperationalError, OSError)):
        return "make its folder writable or choose another with $VOICEAGENT_DATA"
    return "move the file away and a new one is made"
