"""Turn measurements in the store: the times of the last 10,000 turns, no words and no audio."""

from __future__ import annotations

import json

import msgspec

from voiceagent.latency.spans import Contribution, LegKind, Span, Stage, TurnFacts, TurnReport, Wait, WaitCause
from voiceagent.store.database import Database, Row, StoreAddress, StoreError, Value
from voiceagent.store.schema import matching, reading, several
from voiceagent.store.writer import Statement, StoreWriter

MAX_TURNS = 10_000
LOST = "measured turns"
_COLUMNS = "call_id, turn, at, profile, voice_to_voice_ms, barge_in_stop_ms, spans, leg, wait, facts"
_INSERT = f"INSERT INTO voiceagent_turns ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PRUNE = "DELETE FROM voiceagent_turns WHERE id <= (SELECT max(id) FROM voiceagent_turns) - ?"


class TurnStore:
    """Writes turn reports, and keeps the newest."""

    def __init__(self, writer: StoreWriter, *, most_turns: int = MAX_TURNS) -> None:
        self._writer = writer
        self._prune = Statement(_PRUNE, (most_turns,))

    def put(self, report: TurnReport) -> bool:
        """Queue a report; False if it is lost."""
        return self._writer.put(LOST, Statement(_INSERT, _row(report)), self._prune)


def read_turns(
    address: StoreAddress,
    *,
    last: int = MAX_TURNS,
    call_id: str = "",
    profile: str = "",
    leg: str = "",
    since: float | None = None,
    until: float | None = None,
) -> tuple[TurnReport, ...]:
    """The newest `last` turns, oldest first; only those of a call (its id, or the beginning of it), a profile or a leg if one is
    named, that ended at `since` or later and before `until`, in Unix seconds. Raises StoreError when the store is missing,
    corrupt, or of another version, or when several calls begin so."""
    with reading(address) as database:
        whole_id = _whole_id(database, call_id) if call_id else ""
        conditions: dict[str, Value] = {"call_id = ?": whole_id, "profile = ?": profile, "leg = ?": leg}
        conditions = {condition: value for condition, value in conditions.items() if value}
        conditions |= {} if since is None else {"at >= ?": since}
        conditions |= {} if until is None else {"at < ?": until}
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"SELECT * FROM voiceagent_turns {where} ORDER BY id DESC LIMIT ?"
        rows = database.execute(query, (*conditions.values(), last))
    try:
        return tuple(_report(row) for row in reversed(rows))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{address}: cannot be read ({error}); `voiceagent calls delete` removes what is damaged") from error


def _whole_id(database: Database, wanted: str) -> str:
    rows = database.execute("SELECT DISTINCT call_id FROM voiceagent_turns")
    found = matching((str(call_id) for (call_id,) in rows), wanted)
    if len(found) > 1:
        raise StoreError(several(found, wanted))
    return found[0] if found else wanted


def _row(report: TurnReport) -> tuple[Value, ...]:
    spans = json.dumps([[span.stage.value, round(span.start_ms, 2), round(span.duration_ms, 2)] for span in report.spans])
    wait = "" if report.wait is None else _wait_row(report.wait)
    wholes = (_number(report.voice_to_voice_ms), _number(report.barge_in_stop_ms))
    return (
        report.call_id,
        report.turn,
        report.at,
        report.profile,
        *wholes,
        spans,
        report.leg.value,
        wait,
        msgspec.json.encode(report.facts).decode(),
    )


def _number(ms: float | None) -> float | None:
    """Without NumPy's types, which drivers do not know."""
    return None if ms is None else float(ms)


def _wait_row(wait: Wait) -> str:
    pieces = [[piece.part.value, piece.start_ms, piece.duration_ms] for piece in wait.contributions]
    return json.dumps([wait.began_ms, wait.typed, pieces])


def _report(row: Row) -> TurnReport:
    _, call_id, turn, at, profile, voice_to_voice_ms, barge_in_stop_ms, spans, leg, wait, *later = row
    measured = tuple(Span(Stage(stage), start_ms, duration_ms) for stage, start_ms, duration_ms in json.loads(str(spans)))
    return TurnReport(
        str(call_id),
        int(turn or 0),
        float(at or 0.0),
        str(profile),
        measured,
        _as_float(voice_to_voice_ms),
        _as_float(barge_in_stop_ms),
        LegKind(str(leg)),
        _wait(str(wait)) if wait else None,
        msgspec.json.decode(str(later[0]), type=TurnFacts) if later and later[0] else TurnFacts(),
    )


def _as_float(value: Value) -> float | None:
    return None if value is None else float(value)


def _wait(text: str) -> Wait:
    began_ms, typed, pieces = json.loads(text)
    contributions = tuple(Contribution(WaitCause(part), start_ms, duration_ms) for part, start_ms, duration_ms in pieces)
    return Wait(began_ms, contributions, typed)
