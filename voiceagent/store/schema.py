"""The tables of the store, the connection to them, and calls by the beginning of their ids, as people type them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from voiceagent.store.database import (
    BUSY_TIMEOUT_S,
    Database,
    NothingKeptError,
    PostgreSqlDatabase,
    SqliteDatabase,
    StoreAddress,
    StoreError,
    load_driver,
)

VERSION = 1
_VERSION_TABLE = "voiceagent_store"
_TABLES = (
    f"CREATE TABLE {_VERSION_TABLE} (version INTEGER NOT NULL)",
    """CREATE TABLE voiceagent_turns (
        id {id_column},
        call_id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        profile TEXT NOT NULL,
        voice_to_voice_ms DOUBLE PRECISION,
        barge_in_stop_ms DOUBLE PRECISION,
        spans TEXT NOT NULL,
        leg TEXT NOT NULL,
        wait TEXT NOT NULL,
        facts TEXT NOT NULL DEFAULT ''
    )""",
    "CREATE INDEX voiceagent_turns_of_a_call ON voiceagent_turns (call_id, turn)",
    """CREATE TABLE voiceagent_calls (
        call_id TEXT PRIMARY KEY,
        leg TEXT NOT NULL,
        agent TEXT NOT NULL,
        profile TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL,
        seen DOUBLE PRECISION NOT NULL,
        ended DOUBLE PRECISION,
        reason TEXT NOT NULL,
        recording TEXT NOT NULL,
        summary TEXT NOT NULL
    )""",
    "CREATE INDEX voiceagent_calls_by_time ON voiceagent_calls (started)",
    """CREATE TABLE voiceagent_call_events (
        call_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        line TEXT NOT NULL,
        PRIMARY KEY (call_id, number)
    )""",
    """CREATE TABLE voiceagent_event_logs (
        call_id TEXT NOT NULL,
        part INTEGER NOT NULL,
        lines TEXT NOT NULL,
        PRIMARY KEY (call_id, part)
    )""",
)
_LATER_TABLES = {
    "voiceagent_waiting_calls": """CREATE TABLE voiceagent_waiting_calls (
        token TEXT PRIMARY KEY,
        expires DOUBLE PRECISION NOT NULL,
        sealed TEXT NOT NULL
    )""",
    "voiceagent_carried_calls": """CREATE TABLE voiceagent_carried_calls (
        call_id TEXT PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        server TEXT NOT NULL,
        sealed TEXT NOT NULL
    )""",
    "voiceagent_servers": """CREATE TABLE voiceagent_servers (
        server TEXT PRIMARY KEY,
        expires DOUBLE PRECISION NOT NULL
    )""",
    "voiceagent_counters": "CREATE TABLE voiceagent_counters (name TEXT PRIMARY KEY, last INTEGER NOT NULL)",
    "voiceagent_call_changes": """CREATE TABLE voiceagent_call_changes (
        number INTEGER PRIMARY KEY,
        call_id TEXT NOT NULL,
        line TEXT NOT NULL,
        UNIQUE (call_id, number)
    )""",
    "voiceagent_event_groups": """CREATE TABLE voiceagent_event_groups (
        call_id TEXT NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (call_id, name)
    )""",
    "voiceagent_given_events": """CREATE TABLE voiceagent_given_events (
        call_id TEXT NOT NULL,
        name TEXT NOT NULL,
        number INTEGER NOT NULL,
        consumer TEXT NOT NULL,
        given DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (call_id, name, number)
    )""",
}
"""Tables that a store of an earlier version lacks. A version that does not know them leaves them alone."""
_LATER_COLUMNS = {("voiceagent_turns", "facts"): "TEXT NOT NULL DEFAULT ''"}
"""Columns that it lacks. They come last, and an earlier version that writes a row leaves them at their default."""


def connect(address: StoreAddress, *, writes: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Database:
    """A connection to the store. If it is to be written, the tables are made where they are missing. Raises StoreError, also for
    a store of a newer version, and NothingKeptError for one that is to be read and was never written."""
    database = _opened(address, writes=writes, busy_timeout_s=busy_timeout_s)
    try:
        if database.has_table(_VERSION_TABLE):
            _check_version(database, address)
        elif not writes:
            raise NothingKeptError(f"{address}: nothing is kept there yet; run `voiceagent serve` and make a call")
        if writes and not _is_complete(database):
            _make_tables(database)
    except BaseException:
        database.close()
        raise
    return database


def check_driver(address: StoreAddress) -> None:
    """Raises ConfigError if the store is a database whose driver is not installed."""
    if address.url:
        load_driver(address)


@contextmanager
def reading(address: StoreAddress) -> Iterator[Database]:
    """A connection for the time of the body. Raises StoreError."""
    database = connect(address)
    try:
        yield database
    finally:
        database.close()


def _opened(address: StoreAddress, *, writes: bool, busy_timeout_s: float) -> Database:
    if address.url:
        return PostgreSqlDatabase(address)
    return SqliteDatabase(address.file, writes=writes, busy_timeout_s=busy_timeout_s)


def _is_complete(database: Database) -> bool:
    tables = all(map(database.has_table, (_VERSION_TABLE, *_LATER_TABLES)))
    return tables and all(database.has_column(*column) for column in _LATER_COLUMNS)


def _make_tables(database: Database) -> None:
    with database.transaction():
        database.lock_schema()
        if not database.has_table(_VERSION_TABLE):  # another server may have been quicker
            for statement in _TABLES:
                database.execute(statement.replace("{id_column}", database.id_column))
            database.execute(f"INSERT INTO {_VERSION_TABLE} (version) VALUES (?)", (VERSION,))
        for name, statement in _LATER_TABLES.items():
            if not database.has_table(name):
                database.execute(statement)
        for (table, column), kind in _LATER_COLUMNS.items():
            if not database.has_column(table, column):
                database.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")


def _check_version(database: Database, address: StoreAddress) -> None:
    ((version,),) = database.execute(f"SELECT max(version) FROM {_VERSION_TABLE}")
    if not isinstance(version, int) or version > VERSION:
        why = f"a newer voiceagent wrote it, as version {version}; this one knows {VERSION}"
        raise StoreError(f"{address}: {why}", why=why)


ID_BEGINS = "rtc_"
MAX_NAMED = 10
"""The number of calls that are named where the beginning of an id fits several."""


def matching(ids: Iterable[str], wanted: str) -> list[str]:
    """The id that is wanted, or else all that begin so."""
    known = sorted(ids)
    for whole in (wanted, f"{ID_BEGINS}{wanted}"):
        if whole in known:
            return [whole]
    return [call_id for call_id in known if wanted and call_id.startswith((wanted, f"{ID_BEGINS}{wanted}"))]


def several(found: Sequence[str], wanted: str) -> str:
    """The line for an id that fits several calls."""
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"{len(found)} calls begin with {wanted!r}: {', '.join(found[:MAX_NAMED])}{more}; write more of the id"
