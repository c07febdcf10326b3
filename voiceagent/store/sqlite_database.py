"""The store in a SQLite file, in WAL mode: readers and the writer do not wait for each other."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from voiceagent.databases import is_locked, open_patiently
from voiceagent.private_files import private_file
from voiceagent.store.database import BUSY_TIMEOUT_S, NothingKeptError, Row, StoreError, Value


class SqliteDatabase:
    """A connection. Implements `Database`."""

    id_column = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, file: Path, *, writes: bool, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Open the file. If it is to be written it is made, with its folder, and only its owner may read it. Raises
        StoreError."""
        self._file = file
        try:
            if writes:
                private_file(file)
                self._connection = open_patiently(lambda: _opened(file, busy_timeout_s), busy_timeout_s)
            elif not file.exists():
                raise NothingKeptError(f"{file}: nothing is kept there yet; run `voiceagent serve` and make a call")
            else:
                uri = f"{file.resolve().as_uri()}?mode=ro"
                self._connection = sqlite3.connect(uri, uri=True, timeout=busy_timeout_s, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise self._error(error) from error

    def execute(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """See `Database`."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database`."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    def has_table(self, name: str) -> bool:
        """See `Database`."""
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def lock_schema(self) -> None:
        """See `Database`. The transaction has the file locked."""

    def forget(self) -> None:
        """See `Database`. Deleted rows were overwritten (`secure_delete`); the log of writes is emptied."""
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """See `Database`."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def _error(self, error: sqlite3.Error | OSError) -> StoreError:
        text = (error.strerror or "") if isinstance(error, OSError) else ""
        reason = " ".join((text or str(error) or type(error).__name__).split())
        why = f"{reason}; {_advice(error)}"
        is_refused = isinstance(error, sqlite3.IntegrityError | sqlite3.DataError | sqlite3.ProgrammingError)
        return StoreError(f"{self._file}: {why}", why=why, is_refused=is_refused)


def _opened(file: Path, busy_timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=busy_timeout_s, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _advice(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError) and is_locked(error):
        return "another program holds it: end that program"
    if "disk is full" in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return "make room there, or choose another folder with $VOICEAGENT_DATA"
    if isinstance(error, (sqlite3.OperationalError, OSError)):
        return "make its folder writable or choose another with $VOICEAGENT_DATA"
    return "move the file away and a new one is made"
