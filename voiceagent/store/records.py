"""The call records in the store: which call it was, how it ended, how long its turns took, which tools ran; and what belongs to
each: its events, its event log, its turn measurements. A record holds no word that was said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from voiceagent.store.database import Database, NothingKeptError, Row, StoreAddress, StoreError, Value
from voiceagent.store.event_streams import ALL_CALLS
from voiceagent.store.schema import ID_BEGINS, matching, reading, several
from voiceagent.store.writer import Statement

LOST_AFTER_S = 90.0
"""A call that its server has not marked as running for so long went down with it."""
MAX_NOTED = 1_000
"""The most tools, failures and times that a record holds; later ones stand in the call's events alone."""
LOST = "lost"
"""The outcome of a call whose server went down."""


class RecordedTool(msgspec.Struct, frozen=True):
    """A tool that was called."""

    name: str
    ok: bool
    took_ms: float


class CallSummary(msgspec.Struct):
    """The counts and times of a record."""

    turns: int = 0
    """The caller's turns for which a reply was begun."""
    tools: list[RecordedTool] = []
    failures: list[str] = []
    """Codes of what failed."""
    voice_to_voice_ms: list[float] = []
    """The caller's wait for each reply that was heard, in order."""
    barge_in_stop_ms: list[float] = []
    length_ms: float = 0.0
    """On the call's clock, up to its last event."""
    events: int = 0
    """The number of the last event."""
    keeps: str = ""
    """The level of what was kept: `records.keep` at that time."""


class CallRecord(msgspec.Struct, frozen=True):
    """One call."""

    call_id: str
    leg: str
    """The kind of leg that it came by."""
    agent: str
    profile: str
    started: float
    """In Unix seconds."""
    seen: float
    """The last time at which its server had it."""
    ended: float | None = None
    """None while it goes on, and if its server went down."""
    reason: str = ""
    """The reason of its end, a slug."""
    recording: str = ""
    """The file of its recording."""
    summary: CallSummary = msgspec.field(default_factory=CallSummary)

    def goes_on(self, now_s: float) -> bool:
        """True while a server carries the call."""
        return self.ended is None and now_s - self.seen < LOST_AFTER_S

    def outcome(self, now_s: float) -> str:
        """The reason of its end; empty while it goes on."""
        return "" if self.goes_on(now_s) else self.reason or LOST


DAY_S = 86_400.0
PAGE = 500
"""Events that are read at once."""
MOST_LISTED = 100_000
_COLUMNS = "call_id, leg, agent, profile, started, seen, ended, reason, recording, summary"
_UPSERT = f"""INSERT INTO voiceagent_calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (call_id) DO UPDATE SET seen = excluded.seen, ended = excluded.ended, reason = excluded.reason,
    recording = excluded.recording, summary = excluded.summary"""
_SEEN = "UPDATE voiceagent_calls SET seen = ? WHERE call_id = ? AND ended IS NULL"
_EVENT = "INSERT INTO voiceagent_call_events (call_id, number, line) VALUES (?, ?, ?)"
_FORGOTTEN = """DELETE FROM voiceagent_given_events WHERE call_id = ? AND number NOT IN
    (SELECT number FROM voiceagent_call_changes)"""
_EXPIRED = """SELECT call_id FROM voiceagent_calls WHERE (ended IS NOT NULL OR seen < ?) AND (started < ? OR call_id NOT IN
    (SELECT call_id FROM voiceagent_calls ORDER BY started DESC, call_id LIMIT ?))"""
_OF_A_CALL = (
    "voiceagent_call_events",
    "voiceagent_event_logs",
    "voiceagent_call_changes",
    "voiceagent_event_groups",
    "voiceagent_given_events",
    "voiceagent_calls",
)
"""The tables of what is kept of a call, the record last."""


@dataclass(frozen=True, slots=True)
class CallFilter:
    """The calls that are wanted; what is empty excludes none."""

    since: float | None = None
    """Begun at this time or later, in Unix seconds."""
    until: float | None = None
    """Begun before this time."""
    leg: str = ""
    agent: str = ""
    begins: str = ""
    """The beginning of the id, with or without `rtc_`."""
    last: int = MOST_LISTED
    """The newest so many."""


# --- writing ------------------------------------------------------------------------------------------------------------


def keep_record(record: CallRecord) -> Statement:
    """Writes a record, or a later state of it."""
    times = (record.started, record.seen, record.ended)
    summary = msgspec.json.encode(record.summary).decode()
    texts = [text.replace("\0", "�") for text in (record.call_id, record.leg, record.agent, record.profile)]
    return Statement(_UPSERT, (*texts, *times, record.reason, record.recording, summary))


def mark_seen(call_id: str, now_s: float) -> Statement:
    """Notes that the call goes on."""
    return Statement(_SEEN, (now_s, call_id))


def keep_event(call_id: str, number: int, line: bytes) -> Statement:
    """Writes an event."""
    return Statement(_EVENT, (call_id, number, line.decode()))


def forget_expired(now_s: float, *, keep_days: float, most_calls: int) -> tuple[Statement, ...]:
    """Deletes the calls that are older, or beyond so many of the newest, with all that was kept of them. Calls that go on
    stay."""
    values: tuple[Value, ...] = (now_s - LOST_AFTER_S, now_s - keep_days * DAY_S, most_calls)
    deleted = (Statement(f"DELETE FROM {table} WHERE call_id IN ({_EXPIRED})", values) for table in _OF_A_CALL)
    return *deleted, Statement(_FORGOTTEN, (ALL_CALLS,))


def delete_calls(database: Database, call_ids: list[str]) -> None:
    """Delete these calls and all that was kept of them, turn measurements included. Raises StoreError."""
    with database.transaction():
        for call_id in call_ids:
            for table in ("voiceagent_turns", *_OF_A_CALL):
                database.execute(f"DELETE FROM {table} WHERE call_id = ?", (call_id,))
        database.execute(_FORGOTTEN, (ALL_CALLS,))
    database.forget()


# --- reading ------------------------------------------------------------------------------------------------------------


def find_calls(database: Database, wanted: CallFilter) -> list[CallRecord]:
    """The records that fit, newest first. Raises StoreError."""
    conditions: list[str] = []
    values: list[Value] = []
    for condition, value in (
        ("started >= ?", wanted.since),
        ("started < ?", wanted.until),
        ("leg = ?", wanted.leg or None),
        ("agent = ?", wanted.agent or None),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    if wanted.begins:
        conditions.append("(substr(call_id, 1, ?) = ? OR substr(call_id, 1, ?) = ?)")
        for begins in (wanted.begins, f"{ID_BEGINS}{wanted.begins}"):
            values += [len(begins), begins]
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    query = f"SELECT {_COLUMNS} FROM voiceagent_calls {where} ORDER BY started DESC, call_id LIMIT ?"
    return [_record(row) for row in database.execute(query, (*values, wanted.last))]


def find_call(database: Database, call: str) -> CallRecord:
    """The record of a call by its id or the beginning of it. Raises StoreError when there is none, or more than one."""
    found = {record.call_id: record for record in find_calls(database, CallFilter(begins=call))} if call else {}
    ids = matching(found, call)
    if len(ids) == 1:
        return found[ids[0]]
    raise StoreError(several(ids, call) if ids else no_such_call(call))


def no_such_call(call: str) -> str:
    """The line for a call that is not kept."""
    return (
        f"no call {call[:80]!r} is kept; `voiceagent calls list` shows which are. Calls are kept where records.keep says so in "
        "agent.yaml, or by `voiceagent serve --event-logs N`"
    )


def record_of(address: StoreAddress, call_id: str) -> CallRecord | None:
    """The record of the call of this whole id, or None. Raises StoreError."""
    try:
        with reading(address) as database:
            return record_with(database, call_id)
    except NothingKeptError:
        return None


def record_with(database: Database, call_id: str) -> CallRecord | None:
    """The same, by a connection. Raises StoreError."""
    rows = database.execute(f"SELECT {_COLUMNS} FROM voiceagent_calls WHERE call_id = ?", (call_id,))
    return _record(rows[0]) if rows else None


def kept_events(database: Database, call_id: str, since: int = 1, most: int = PAGE) -> list[tuple[int, str]]:
    """The next events of a call from this number on, each with its number. Raises StoreError."""
    query = "SELECT number, line FROM voiceagent_call_events WHERE call_id = ? AND number >= ? ORDER BY number LIMIT ?"
    return [(int(number or 0), str(line)) for number, line in database.execute(query, (call_id, since, most))]


def all_events(database: Database, call_id: str) -> Iterator[str]:
    """The lines of all events of a call. Raises StoreError."""
    since = 1
    while page := kept_events(database, call_id, since):
        yield from (line for _, line in page)
        since = page[-1][0] + 1


def _record(row: Row) -> CallRecord:
    call_id, leg, agent, profile, started, seen, ended, reason, recording, summary = row
    return CallRecord(
        call_id=str(call_id),
        leg=str(leg),
        agent=str(agent),
        profile=str(profile),
        started=float(started or 0.0),
        seen=float(seen or 0.0),
        ended=None if ended is None else float(ended),
        reason=str(reason),
        recording=str(recording),
        summary=_summary(str(summary)),
    )


def _summary(text: str) -> CallSummary:
    try:
        return msgspec.json.decode(text, type=CallSummary)
    except msgspec.DecodeError:
        return CallSummary()
