"""Streams of events in the store: the events of calls, and the changes of all calls, each of which has a number that grows.
Readers look for new rows from time to time. Who was given what stands in tables, so consumers of a group may be on several
machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.store.database import Database, NothingKeptError, Row, StoreAddress, StoreError, Value
from voiceagent.store.event_streams import ALL_CALLS, PAGE, REDELIVER_AFTER_S, CallState, StreamedEvent, StreamError, check_id
from voiceagent.store.records import CallFilter, find_calls, record_with
from voiceagent.store.schema import connect
from voiceagent.store.writer import Statement

T = TypeVar("T")

POLLED_EVERY_S = 0.25
"""A reader that waits looks so often."""
_COUNTED = """INSERT INTO voiceagent_counters (name, last) VALUES (?, 1)
    ON CONFLICT (name) DO UPDATE SET last = voiceagent_counters.last + 1"""
_CHANGE = """INSERT INTO voiceagent_call_changes (number, call_id, line)
    SELECT last, ?, ? FROM voiceagent_counters WHERE name = ?"""
_OF_ALL = "SELECT number, line FROM voiceagent_call_changes WHERE number > ? ORDER BY number LIMIT ?"
_OF_CALL = "SELECT number, line FROM voiceagent_call_events WHERE call_id = ? AND number > ? ORDER BY number LIMIT ?"
_JOIN = """INSERT INTO voiceagent_event_groups (call_id, name, position) VALUES (?, ?, 0)
    ON CONFLICT (call_id, name) DO NOTHING"""
_LOCKED = "UPDATE voiceagent_event_groups SET position = position WHERE call_id = ? AND name = ? RETURNING position"
_MOVE = "UPDATE voiceagent_event_groups SET position = ? WHERE call_id = ? AND name = ?"
_GIVE = """INSERT INTO voiceagent_given_events (call_id, name, number, consumer, given) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (call_id, name, number) DO UPDATE SET consumer = excluded.consumer, given = excluded.given"""
_DONE = "DELETE FROM voiceagent_given_events WHERE call_id = ? AND name = ? AND number = ?"


def keep_change(call_id: str, change: JsonObject) -> tuple[Statement, ...]:
    """Writes a change of a call into the stream of all calls. Of several servers that write at once, each waits for the others'
    numbers: so a reader that has seen a number has seen all before it."""
    line = msgspec.json.encode(change).decode()
    return Statement(_COUNTED, (ALL_CALLS,)), Statement(_CHANGE, (call_id, line, ALL_CALLS))


class SqlStreams:
    """The streams of a store. Implements `EventStreams`; belongs to one thread."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._database: Database | None = None
        self._writes = False
        """True if the connection may write."""

    def calls(self, begins: str) -> list[str]:
        """See `EventStreams`."""
        return self._tried([], lambda database: [call.call_id for call in find_calls(database, CallFilter(begins=begins))])

    def state(self, call_id: str) -> CallState | None:
        """See `EventStreams`."""
        record = self._tried(None, lambda database: record_with(database, call_id))
        if record is None:
            return None
        if record.ended is not None:
            return CallState.ENDED
        return CallState.GOES_ON if record.goes_on(time.time()) else CallState.LOST

    def last(self, stream: str) -> str:
        """See `EventStreams`."""
        if stream == ALL_CALLS:
            query, values = "SELECT max(number) FROM voiceagent_call_changes", tuple[str, ...]()
        else:
            query, values = "SELECT max(number) FROM voiceagent_call_events WHERE call_id = ?", (stream,)
        rows: list[Row] = self._tried([], lambda database: database.execute(query, values) if _is_whole(database) else [])
        return str(rows[0][0]) if rows and rows[0][0] is not None else ""

    def read(self, stream: str, after: str = "", *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """See `EventStreams`."""
        number = _number(after)
        return _waited(lambda: self._tried([], lambda database: _page(database, stream, number, most)), wait_s)

    def join(self, stream: str, group: str) -> None:
        """See `EventStreams`."""
        if stream != ALL_CALLS and self.state(stream) is None:
            raise StreamError(f"nothing is kept of a call {stream[:40]!r}")
        self._written(lambda database: database.execute(_JOIN, (stream, group)))

    def take(self, stream: str, group: str, consumer: str, *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """See `EventStreams`."""
        return _waited(lambda: self._taken(stream, group, consumer, most), wait_s)

    def given(self, stream: str, group: str, consumer: str, after: str = "", *, most: int = PAGE) -> list[StreamedEvent]:
        """See `EventStreams`."""
        condition, values = "consumer = ? AND g.number > ?", (consumer, _number(after))
        return self._written(lambda database: _given(database, stream, group, condition, values, most))

    def claim(
        self, stream: str, group: str, consumer: str, *, idle_s: float = REDELIVER_AFTER_S, most: int = PAGE
    ) -> list[StreamedEvent]:
        """See `EventStreams`."""
        now_s = time.time()

        def overdue(database: Database) -> list[StreamedEvent]:
            return _given(database, stream, group, "given <= ?", (now_s - idle_s,), most)

        def claimed(database: Database) -> list[StreamedEvent]:
            with database.transaction():
                database.execute(_LOCKED, (stream, group))
                found = overdue(database)
                for event in found:
                    database.execute(_GIVE, (stream, group, int(event.id), consumer, now_s))
            return found

        return self._written(claimed) if self._written(overdue) else []

    def acknowledge(self, stream: str, group: str, ids: Sequence[str]) -> None:
        """See `EventStreams`."""

        def acknowledged(database: Database) -> None:
            with database.transaction():
                for each in ids:
                    database.execute(_DONE, (stream, group, _number(each)))

        self._written(acknowledged)

    def close(self) -> None:
        """See `EventStreams`."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _taken(self, stream: str, group: str, consumer: str, most: int) -> list[StreamedEvent]:
        def position(database: Database, query: str) -> int:
            rows = database.execute(query, (stream, group))
            if not rows:
                raise StoreError(f"{self._address}: the group {group} of {stream} was deleted with its call")
            return int(rows[0][0] or 0)

        def taken(database: Database) -> list[StreamedEvent]:
            seen = position(database, "SELECT position FROM voiceagent_event_groups WHERE call_id = ? AND name = ?")
            if not _page(database, stream, seen, 1):  # a look without a lock, since most find nothing
                return []
            with database.transaction():
                page = _page(database, stream, position(database, _LOCKED), most)
                for event in page:
                    database.execute(_GIVE, (stream, group, int(event.id), consumer, time.time()))
                if page:
                    database.execute(_MOVE, (int(page[-1].id), stream, group))
            return page

        return self._written(taken)

    def _tried(self, nothing: T, work: Callable[[Database], T]) -> T:
        """The result of reading; `nothing` of a store that was never written."""
        try:
            return self._with(work, writes=False)
        except NothingKeptError:
            return nothing

    def _written(self, work: Callable[[Database], T]) -> T:
        return self._with(work, writes=True)

    def _with(self, work: Callable[[Database], T], *, writes: bool) -> T:
        try:
            if writes and not self._writes:
                self.close()
            if self._database is None:
                self._database, self._writes = connect(self._address, writes=writes), writes
            return work(self._database)
        except StoreError:
            self.close()  # the next try connects anew
            raise


def _number(given: str) -> int:
    return int(check_id(given).partition("-")[0] or 0)


def _is_whole(database: Database) -> bool:
    """False for a store of an earlier version that no server of this one has written."""
    return database.has_table("voiceagent_call_changes")


def _page(database: Database, stream: str, after: int, most: int) -> list[StreamedEvent]:
    if stream != ALL_CALLS:
        rows = database.execute(_OF_CALL, (stream, after, most))
    else:
        rows = database.execute(_OF_ALL, (after, most)) if _is_whole(database) else []
    return _events(rows)


def _given(
    database: Database, stream: str, group: str, condition: str, values: tuple[Value, ...], most: int
) -> list[StreamedEvent]:
    """Those that were given and still exist."""
    events = "voiceagent_call_changes e ON" if stream == ALL_CALLS else "voiceagent_call_events e ON e.call_id = g.call_id AND"
    query = f"""SELECT g.number, e.line FROM voiceagent_given_events g JOIN {events} e.number = g.number
        WHERE g.call_id = ? AND g.name = ? AND {condition} ORDER BY g.number LIMIT ?"""
    return _events(database.execute(query, (stream, group, *values, most)))


def _events(rows: Sequence[Row]) -> list[StreamedEvent]:
    return [StreamedEvent(str(number), str(line).encode()) for number, line in rows]


def _waited(look: Callable[[], list[StreamedEvent]], wait_s: float) -> list[StreamedEvent]:
    until_s = time.monotonic() + wait_s
    while not (found := look()) and (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(POLLED_EVERY_S, left_s))
    return found
