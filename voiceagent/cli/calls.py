"""`voiceagent calls`: the calls that are kept."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from voiceagent.cli.follow import follow_calls
from voiceagent.cli.output import clock, json_option, print_json, printable
from voiceagent.data_files import FILE_MODE, private_folder
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.settings.agent import events_address, store_address
from voiceagent.store.call_events import TranscriptEntry, transcript
from voiceagent.store.database import Database, NothingKeptError, StoreError
from voiceagent.store.event_log import SUFFIX, EventLogError, log_bytes
from voiceagent.store.records import CallFilter, CallRecord, all_events, delete_calls, find_call, find_calls, no_such_call
from voiceagent.store.redis_streams import RedisStreams
from voiceagent.store.schema import connect, reading

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
        print_json({**facts(kept), "conversation": [asdict(entry) for entry in entries]})
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


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).astimezone().isoformat(timespec="milliseconds")


F = TypeVar("F", bound=Callable[..., object])
UNITS_S = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


class Moment(click.ParamType[float]):
    """A time: a date, with or without a time of day, or how long ago it was."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in Unix seconds."""
        if isinstance(value, float):
            return value
        text = str(value)
        if ago := _AGO.fullmatch(text):
            return time.time() - int(ago[1]) * UNITS_S[ago[2]]
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(f"{text!r} is no time; expected 2026-11-26, 2026-11-26T14:30, or how long ago: 90m, 2h, 7d, 4w", param, ctx)


def filter_options(command: F) -> F:
    """Adds the options, in this order."""
    for option in (
        click.option("--id", "begins", default="", metavar="BEGINNING", help="Only calls whose ids begin so."),
        click.option("--agent", default="", metavar="NAME", help="Only calls that this agent answered."),
        click.option("--leg", type=click.Choice([leg.value for leg in LegKind]), help="Only calls that came by this."),
        click.option("--until", type=Moment(), help="Only calls that began before."),
        click.option("--since", type=Moment(), help="Only calls that began then or later: 2026-11-26, 2026-11-26T14:30, 2h, 7d."),
    ):
        command = option(command)
    return command


def chosen(since: float | None, until: float | None, leg: str | None, agent: str, begins: str, **more: int) -> CallFilter:
    """The filter that the options make."""
    return CallFilter(since=since, until=until, leg=leg or "", agent=agent, begins=begins, **more)


COLUMNS = ("began", "call", "length", "turns", "ended", "by", "agent")
HOW_KEPT = "calls are kept where records.keep says so in agent.yaml, or by `voiceagent serve --event-logs N`"


@click.group(
    epilog="""\b
Examples:
  voiceagent calls list --since 7d                  the calls of the last seven days, newest first
  voiceagent calls list --leg telephone --json      for programs
  voiceagent calls show 8f2c                        the conversation of the call whose id begins so
  voiceagent calls follow 8f2c                      its events, as they come
  voiceagent calls export --since 2026-11-01 --out november
  voiceagent calls delete 8f2c                      its record, events, event log, times and recording
  voiceagent calls delete --until 90d --yes

Calls are kept where records.keep says so in agent.yaml, in $VOICEAGENT_DATA or, where it is set, in the
database at $VOICEAGENT_STORE. Exit codes: 0 all is well, 1 something could not be deleted, 2 there is no
such call."""
)
def calls() -> None:
    """List the calls that are kept, show what was said in one, follow its events, export and delete calls."""


@calls.command(
    "list",
    epilog="""\b
Examples:
  voiceagent calls list --last 5
  voiceagent calls list --since 2h --agent "Front desk"
  voiceagent calls list --id 8f --json""",
)
@filter_options
@click.option("--last", default=20, show_default=True, type=click.IntRange(1, 100_000), help="How many calls.")
@json_option
def list_calls(
    since: float | None, until: float | None, leg: str | None, agent: str, begins: str, last: int, as_json: bool
) -> int:
    """List calls, newest first: when they began, how long they were, how they ended."""
    try:
        with reading(store_address()) as database:
            found = find_calls(database, chosen(since, until, leg, agent, begins, last=last))
    except StoreError as error:
        return _failed(error, as_json=as_json)
    if as_json:
        print_json([facts(call) for call in found])
    if not found:
        click.echo(f"no call in {store_address()} fits; {HOW_KEPT}", err=True)
        return NO_DATA
    if not as_json:
        _table([COLUMNS, *map(_row, found)])
    return 0


@calls.command(
    "show",
    epilog="""\b
Examples:
  voiceagent calls show rtc_8f2c0d
  voiceagent calls show 8f2c --json | jq '.conversation[]'""",
)
@click.argument("call")
@json_option
def show_call(call: str, as_json: bool) -> int:
    """Show the conversation of CALL, an id or the beginning of one: who said what and when, what was heard, which tools ran.
    Words stand there only where they are kept."""
    return show(call, as_json=as_json)


@calls.command(
    "export",
    epilog="""\b
Examples:
  voiceagent calls export 8f2c > call.jsonl
  voiceagent calls export --since 7d --leg telephone --out week
  voiceagent calls export 8f2c --event-log > log.jsonl && voiceagent replay log.jsonl

The first line of a call is its record; each other line is one of its events: see docs/calls.md.""",
)
@click.argument("which", metavar="[CALL]...", nargs=-1)
@filter_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder, for one file a call.")
@click.option("--event-log", "event_log", is_flag=True, help="Instead, the event log, which `voiceagent replay` reads.")
def export_calls(
    which: Sequence[str],
    since: float | None,
    until: float | None,
    leg: str | None,
    agent: str,
    begins: str,
    out: Path | None,
    event_log: bool,
) -> int:
    """Export CALLs, or those that fit, one JSONL a call: its record, its transcript, tools and times. One call goes to standard
    output, unless --out names a folder."""
    try:
        with reading(store_address()) as database:
            found = _chosen(database, which, chosen(since, until, leg, agent, begins))
            if len(found) > 1 and out is None:
                click.echo(f"error: {len(found)} calls fit; name a folder for their files with --out", err=True)
                return NO_DATA
            for call in found:
                lines = log_bytes(store_address(), call.call_id) if event_log else export_lines(database, call)
                _write(lines, call, out)
    except (StoreError, EventLogError) as error:
        return _failed(error)
    if out is not None:
        click.echo(f"{len(found)} calls are in {out}")
    return 0


@calls.command(
    "delete",
    epilog="""\b
Examples:
  voiceagent calls delete 8f2c
  voiceagent calls delete --agent "Front desk" --until 90d --yes
  voiceagent calls delete --until 90d --yes --json

A call that goes on stays. Copies that you made (exports, backups, results that a webhook took) stay, too.""",
)
@click.argument("which", metavar="[CALL]...", nargs=-1)
@filter_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_some(
    which: Sequence[str],
    since: float | None,
    until: float | None,
    leg: str | None,
    agent: str,
    begins: str,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete CALLs, or those that fit, and every trace of them: record, events (also in Redis), event log, times, recording."""
    wanted = chosen(since, until, leg, agent, begins)
    if not which and wanted == CallFilter():
        raise click.UsageError("name calls, or choose them with --since, --until, --leg, --agent or --id")
    try:
        with _writing() as database:
            found = _chosen(database, which, wanted)
            running = [call for call in found if call.goes_on(time.time())]
            ended = [call for call in found if call not in running]
            for call in running:
                click.echo(f"{printable(call.call_id)} goes on and stays; hang it up first", err=True)
            if ended and not yes:
                click.confirm(
                    f"delete {_number(ended)} with all that is kept of {'it' if len(ended) == 1 else 'them'}?",
                    abort=True,
                    err=as_json,
                )
            stayed = [call for call in ended if not _recording_deleted(call)]
            deleted = [call for call in ended if call not in stayed]
            _forget_streams([call.call_id for call in deleted])
            delete_calls(database, [call.call_id for call in deleted])
    except StoreError as error:
        return _failed(error)
    if as_json:
        print_json({"deleted": [call.call_id for call in deleted], "stayed": [call.call_id for call in (*running, *stayed)]})
    else:
        click.echo(f"{_number(deleted)} deleted")
    return 1 if running or stayed else 0


calls.add_command(follow_calls)


def _forget_streams(call_ids: Sequence[str]) -> None:
    """Delete what Redis has of these calls. Raises StoreError."""
    address = events_address()
    if address is None or not call_ids:
        return
    streams = RedisStreams(address)
    try:
        streams.forget(call_ids)
    finally:
        streams.close()


def _chosen(database: Database, which: Sequence[str], wanted: CallFilter) -> list[CallRecord]:
    """The calls that are named, or else those that fit. Raises StoreError if there is none."""
    if which:
        return list({call.call_id: call for call in (find_call(database, one) for one in which)}.values())
    found = find_calls(database, wanted)
    if not found:
        raise StoreError(f"no call in {store_address()} fits; {HOW_KEPT}")
    return found


@contextmanager
def _writing() -> Iterator[Database]:
    """The store, to delete in it. Raises StoreError where it was never written."""
    with reading(store_address()):
        database = connect(store_address(), writes=True)
    try:
        yield database
    finally:
        database.close()


def _recording_deleted(call: CallRecord) -> bool:
    """Deletes the call's recording; returns False, and says why, if it is still there."""
    try:
        if call.recording:
            Path(call.recording).unlink(missing_ok=True)
    except OSError as error:
        reason = f"its recording {call.recording} cannot be deleted ({error.strerror})"
        click.echo(f"error: {printable(call.call_id)} stays: {printable(reason)}", err=True)
        return False
    return True


def _write(lines: bytes, call: CallRecord, out: Path | None) -> None:
    if out is None:
        click.echo(lines, nl=False)
        return
    private_folder(out)
    path = out / f"{call.call_id}{SUFFIX}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE), "wb") as file:
        file.write(lines)


def _failed(error: StoreError | EventLogError, *, as_json: bool = False) -> int:
    if as_json:
        click.echo("[]")
    click.echo(f"error: {error}", err=True)
    return NO_DATA


def _number(calls: Sequence[CallRecord]) -> str:
    return "1 call" if len(calls) == 1 else f"{len(calls)} calls"


def _row(call: CallRecord) -> tuple[str, ...]:
    began = datetime.fromtimestamp(call.started).strftime("%Y-%m-%d %H:%M:%S")
    cells = (began, call.call_id, clock(call.summary.length_ms), str(call.summary.turns), outcome(call), call.leg, call.agent)
    return tuple(map(printable, cells))


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Nothing is cut, however narrow the terminal is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
