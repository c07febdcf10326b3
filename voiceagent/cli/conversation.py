"""A kept call as people read it, for `voiceagent calls show` and `voiceagent replay --transcript`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

import click

from voiceagent.json_types import JsonObject
from voiceagent.settings.agent import data_dir
from voiceagent.store.event_log import EventLogError, event_logs_dir, find_log
from voiceagent.store.kept_call import KeptCall, read_kept
from voiceagent.store.transcript import TranscriptEntry, transcript

NO_DATA = 2


def show(call: str, *, as_json: bool) -> int:
    """Print the conversation of a call, given by its id, the beginning of it, or its file. Returns the exit code: 2 if there is
    no such call, or nothing of it can be read."""
    try:
        kept = read_kept(find_log(event_logs_dir(data_dir()), call))
    except EventLogError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    entries = transcript(kept)
    if as_json:
        click.echo(
            json.dumps({**facts(kept), "conversation": [asdict(entry) for entry in entries]}, ensure_ascii=False, indent=2)
        )
    elif kept.steps:
        click.echo(printable(heading(kept)))
        for entry in entries:
            click.echo(printable(line(entry)))
    if kept.problem:
        click.echo(f"error: {kept.call_id}: {printable(kept.problem)}; what can be read is shown", err=True)
    return 0 if kept.steps else NO_DATA


def facts(call: KeptCall) -> JsonObject:
    """A call without its conversation, as JSON."""
    return {
        "call": call.call_id,
        "at": datetime.fromtimestamp(call.at).astimezone().isoformat(timespec="seconds"),
        "length_s": round(call.length_ms / 1000, 1),
        "turns": call.turns,
        "ended": None if call.goes_on else call.ended or None,
        "goes_on": call.goes_on,
        "leg": call.leg or None,
        "agent": call.agent or None,
        "problem": call.problem or None,
    }


def heading(call: KeptCall) -> str:
    """A call in one line."""
    at = datetime.fromtimestamp(call.at).strftime("%Y-%m-%d %H:%M:%S")
    parts = [call.agent, f"by {call.leg}" if call.leg else "", clock(call.length_ms), turns(call), end(call)]
    return f"{call.call_id}  {at}  {', '.join(filter(None, parts))}"


def turns(call: KeptCall) -> str:
    """The number of the call's turns."""
    return f"{call.turns} turn{'' if call.turns == 1 else 's'}"


def end(call: KeptCall) -> str:
    """The call's end."""
    return "goes on" if call.goes_on else call.ended or "end unknown"


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
