"""A kept call as people and programs read it, for `voiceagent calls` and `voiceagent replay --transcript`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import datetime

import click
import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.settings.agent import store_address
from voiceagent.store.database import Database, NothingKeptError, StoreError
from voiceagent.store.records import CallRecord, all_events, find_call, no_such_call
from voiceagent.store.schema import reading
from voiceagent.store.transcript import TranscriptEntry, transcript

NO_DATA = 2


def show(call: str, *, as_json: bool) -> int:
    """Print the conversation of a call, given by its id or the beginning of it. Returns the exit code: 2 if there is no such
    call."""
    try:
        with reading(store_address()) as database:
            kept = find_call(database, call)
            entries = transcript(all_events(database, kept.call_id))
    except NothingKeptError:
        click.echo(f"error: {no_such_call(call)}", err=True)
        return NO_DATA
    except StoreError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    if as_json:
        click.echo(
            json.dumps({**facts(kept), "conversation": [asdict(entry) for entry in entries]}, ensure_ascii=False, indent=2)
        )
        return 0
    click.echo(printable(heading(kept)))
    for entry in entries:
        click.echo(printable(line(entry)))
    return 0


def facts(call: CallRecord) -> JsonObject:
    """A call without its conversation, as JSON."""
    now_s = time.time()
    summary: JsonObject = msgspec.to_builtins(call.summary)
    return {
        "call": call.call_id,
        "leg": call.leg,
        "agent": call.agent,
        "profile": call.profile,
        "started": _moment(call.started),
        "ended": None if call.ended is None else _moment(call.ended),
        "goes_on": call.goes_on(now_s),
        "outcome": call.outcome(now_s) or None,
        "recording": call.recording or None,
        **summary,
    }


def export_lines(database: Database, call: CallRecord) -> bytes:
    """A call as JSON Lines: its record, then its events. Raises StoreError."""
    record = json.dumps({"type": "call.record", **facts(call)}, ensure_ascii=False)
    return "".join(f"{text}\n" for text in (record, *all_events(database, call.call_id))).encode()


def heading(call: CallRecord) -> str:
    """A call in one line."""
    at = datetime.fromtimestamp(call.started).strftime("%Y-%m-%d %H:%M:%S")
    turns = f"{call.summary.turns} turn{'' if call.summary.turns == 1 else 's'}"
    return f"{call.call_id}  {at}  {call.agent}, by {call.leg}, {clock(call.summary.length_ms)}, {turns}, {outcome(call)}"


def outcome(call: CallRecord) -> str:
    """The call's end."""
    return call.outcome(time.time()) or "goes on"


def clock(ms: float) -> str:
    """A time of the call: minutes, seconds and tenths."""
    tenths = round(ms / 100)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


def line(entry: TranscriptEntry) -> str:
    """An entry in one line."""
    said = entry.text
    if entry.who == "tool":
        took = "" if entry.took_ms is None else f" ({entry.took_ms:.0f} ms)"
        said = f"{entry.text}({entry.arguments}) → {'no result' if entry.output is None else entry.output}{took}"
    if entry.unheard:
        said = f"{said} (not heard: {entry.unheard})".lstrip()
    notes = f"  [{'; '.join(entry.notes)}]" if entry.notes else ""
    return f"{clock(entry.at_ms):>8}  {entry.who:<6}  {said}{notes}"


def printable(text: str) -> str:
    """Text in one line, and without what would move a terminal's cursor or colour it."""
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else f"\\x{ord(sign):02x}" for sign in text)


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).astimezone().isoformat(timespec="milliseconds")
