"""One connection to the store, and the place where a server keeps what it knows of calls: a SQLite file, in WAL mode, so that
readers and the writer do not wait for each other; or a PostgreSQL database by its URL, which several servers may share and which
needs `voiceagent[postgresql]`, that is psycopg. SQL is written once, with `?` for values, in the words that both share. A
connection blocks, and belongs to one thread."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import urlsplit

from voiceagent.addresses import shown
from voiceagent.data_files import is_locked, open_patiently, private_file
from voiceagent.errors import ConfigError, VoiceAgentError
from voiceagent.redaction import keep_secrets_of, redacted

if TYPE_CHECKING:
    import psycopg

# --- the place of the store -------------------------------------------------------------------------------------------

VARIABLE = "VOICEAGENT_STORE"
FILE_NAME = "calls.sqlite3"
SCHEMES = ("postgresql", "postgres")


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A file, or a URL where there is one."""

    file: Path
    url: str = ""

    def __str__(self) -> str:
        """The address for messages, without a password."""
        return shown(self.url) if self.url else str(self.file)


def local_store(data_dir: Path) -> StoreAddress:
    """The SQLite file inside the data folder."""
    return StoreAddress(data_dir / FILE_NAME)


def chosen_store(url: str, data_dir: Path) -> StoreAddress:
    """The database at the URL, or else the file inside the data folder. Raises ConfigError."""
    if not url:
        return local_store(data_dir)
    if not _is_postgresql(url):
        what = "a value with an @ in it" if "@" in url else repr(shown(url)[:80])
        raise ConfigError(
            f"${VARIABLE} is {what}, expected postgresql://USER:PASSWORD@HOST/DATABASE, or nothing for a file in $VOICEAGENT_DATA"
        )
    return StoreAddress(data_dir / FILE_NAME, url)


def _is_postgresql(url: str) -> bool:
    """True for the URL of a database, on one host or on several with commas between them (libpq's connection URIs)."""
    try:
        parts = urlsplit(url)
        return parts.scheme in SCHEMES and all(urlsplit(f"//{host}").port != 0 for host in _hosts(url))
    except ValueError:
        return False


def _hosts(url: str) -> list[str]:
    """Each with its port, if it has one."""
    return urlsplit(url).netloc.rpartition("@")[2].split(",")


Value: TypeAlias = str | int | float | None
Row: TypeAlias = tuple[Value, ...]

# --- a connection -----------------------------------------------------------------------------------------------------

CONNECT_TIMEOUT_S = 5.0
BUSY_TIMEOUT_S = 2.0
"""Longest wait for another program that holds a SQLite file."""
STATEMENT_TIMEOUT_S = 30.0
"""Longest run of a statement in PostgreSQL."""


class StoreError(VoiceAgentError):
    """The store cannot be read or written."""

    def __init__(self, message: str, *, why: str = "", is_lost: bool = False, is_refused: bool = False) -> None:
        """`why` is the reason with the advice, without the address. `is_lost` is True if there is no connection, so that another
        attempt may succeed; `is_refused` if the database does not take these values, while it may take others."""
        super().__init__(message)
        self.why = why or message
        self.is_lost, self.is_refused = is_lost, is_refused


class NothingKeptError(StoreError):
    """The store was never written."""


class Database(Protocol):
    """A connection. Each method raises StoreError."""

    id_column: str
    """The type of a column that counts rows."""
    now: str
    """An expression for the database's own time, in seconds since 1970."""

    def execute(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Run a statement; returns its rows."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All statements of the body, or none of them."""
        ...

    def has_table(self, name: str) -> bool:
        """True if there is such a table."""
        ...

    def has_column(self, table: str, name: str) -> bool:
        """True if the table has such a column."""
        ...

    def lock_schema(self) -> None:
        """Let no other server make tables until the transaction ends."""
        ...

    def forget(self) -> None:
        """Leave nothing of deleted rows in files, as far as the engine can do that at once."""
        ...

    def close(self) -> None:
        """Close it. May be called twice. Raises nothing."""
        ...


# --- SQLite -----------------------------------------------------------------------------------------------------------


class SqliteDatabase:
    """A connection. Implements `Database`."""

    id_column = "INTEGER PRIMARY KEY AUTOINCREMENT"
    now = "((julianday('now') - 2440587.5) * 86400.0)"

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

    def has_column(self, table: str, name: str) -> bool:
        """See `Database`."""
        return bool(self.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, name)))

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


# --- PostgreSQL -------------------------------------------------------------------------------------------------------

SCHEMA_LOCK = 0x766F696365
"""The key of the advisory lock under which tables are made."""
LOST_MS = 10_000
"""A server that does not acknowledge data for so long is given up."""


def load_driver(address: StoreAddress) -> ModuleType:
    """The module psycopg. Raises ConfigError where it is missing."""
    try:
        import psycopg
    except ImportError as error:
        raise ConfigError(
            f"the store {address} needs psycopg, which is not installed: pip install 'voiceagent[postgresql]'"
        ) from error
    return psycopg


def _which_host(url: str) -> dict[str, str]:
    """An option for a URL of several hosts that does not name it: the one that takes writes is meant, a primary."""
    return {"target_session_attrs": "read-write"} if len(_hosts(url)) > 1 and "target_session_attrs" not in url else {}


class PostgreSqlDatabase:
    """A connection. Implements `Database`."""

    id_column = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    now = "CAST(extract(epoch from clock_timestamp()) AS DOUBLE PRECISION)"

    def __init__(self, address: StoreAddress) -> None:
        """Connect. Raises StoreError, and ConfigError where the driver is missing."""
        keep_secrets_of({}, {"": address.url})
        self._address = address
        self._driver = driver = load_driver(address)
        try:
            self._connection: psycopg.Connection[Row] = driver.connect(
                address.url,
                autocommit=True,
                connect_timeout=round(CONNECT_TIMEOUT_S),
                application_name="voiceagent",
                tcp_user_timeout=LOST_MS,
                **_which_host(address.url),
                options=f"-c statement_timeout={round(STATEMENT_TIMEOUT_S * 1000)}",
            )
        except driver.Error as error:
            raise self._error(error, connects=True) from error

    def execute(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """See `Database`."""
        try:
            cursor = self._connection.execute(sql.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []
        except self._driver.Error as error:
            raise self._error(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database`."""
        try:
            with self._connection.transaction():
                yield
        except self._driver.Error as error:
            raise self._error(error) from error

    def has_table(self, name: str) -> bool:
        """See `Database`."""
        # read from the catalog: a look-up by name, such as to_regclass, may remember that there was none
        query = "SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = ? AND schemaname = ANY (current_schemas(false))"
        return bool(self.execute(query, (name,)))

    def has_column(self, table: str, name: str) -> bool:
        """See `Database`."""
        query = """SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
            WHERE c.relname = ? AND a.attname = ? AND c.relnamespace = ANY (
            SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ANY (current_schemas(false)))"""
        return bool(self.execute(query, (table, name)))

    def lock_schema(self) -> None:
        """See `Database`."""
        self.execute("SELECT pg_advisory_xact_lock(?)", (SCHEMA_LOCK,))

    def forget(self) -> None:
        """See `Database`. PostgreSQL's autovacuum frees deleted rows by itself."""

    def close(self) -> None:
        """See `Database`."""
        with suppress(self._driver.Error):
            self._connection.close()

    def _error(self, error: psycopg.Error, *, connects: bool = False) -> StoreError:
        reason = redacted(" ".join(str(error).split())) or type(error).__name__
        if connects:
            why = f"{reason}; is the database up, and are user and password right?"
        elif isinstance(error, self._driver.errors.InsufficientPrivilege):
            why = f"{reason}; give the user the right to make and change tables there"
        else:
            why = f"{reason}; see the database's own log"
        errors = self._driver.errors
        passing = errors.AdminShutdown | errors.DeadlockDetected | errors.ReadOnlySqlTransaction  # not the primary any more
        is_lost = connects or self._connection.closed or isinstance(error, passing)
        is_refused = isinstance(error, self._driver.IntegrityError | self._driver.DataError)
        return StoreError(f"{self._address}: {why}", why=why, is_lost=is_lost, is_refused=is_refused)
