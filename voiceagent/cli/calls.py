"""`voiceagent calls`: the calls whose event logs are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import click

from voiceagent.cli.conversation import NO_DATA, clock, end, facts, printable, show
from voiceagent.settings.agent import data_dir
from voiceagent.store.event_log import EventLogError, event_logs_dir
from voiceagent.store.kept_call import KeptCall, kept_calls, read_kept

COLUMNS = ("began", "call", "length", "turns", "ended", "by", "agent")


@click.group(
    epilog="""\b
Examples:
  voiceagent serve --event-logs 20    keep the event logs of the last 20 calls
  voiceagent calls list               the newest first
  voiceagent calls show 8f2c          the conversation of the call whose id begins so

Exit codes: 0 all is well, 2 there is no such call."""
)
def calls() -> None:
    """List the calls whose event logs are kept, and show what was said in one."""


@calls.command("list")
@click.option("--last", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many calls.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_calls(last: int, as_json: bool) -> int:
    """List the last calls, newest first: when they began, how long they were, how they ended."""
    folder = event_logs_dir(data_dir())
    found: list[KeptCall] = []
    for path in kept_calls(folder)[:last]:
        try:
            found.append(read_kept(path))
        except EventLogError as error:
            found.append(KeptCall(path.stem, problems=[str(error)]))
    found.sort(key=lambda call: call.at, reverse=True)
    if as_json:
        click.echo(json.dumps([facts(call) for call in found], ensure_ascii=False, indent=2))
    if not found:
        click.echo(f"no call is kept in {folder}; `voiceagent serve --event-logs N` keeps the last N", err=True)
        return NO_DATA
    if not as_json:
        _table([COLUMNS, *map(_row, found)])
    for call in found:
        if call.problem:
            click.echo(f"{printable(call.call_id)}: {printable(call.problem)}", err=True)
    return 0


@calls.command("show")
@click.argument("call")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_call(call: str, as_json: bool) -> int:
    """Show the conversation of CALL, an id, the beginning of one, or a file: who said what and when, what was heard, which tools
    ran."""
    return show(call, as_json=as_json)


def _row(call: KeptCall) -> tuple[str, ...]:
    began = datetime.fromtimestamp(call.at).strftime("%Y-%m-%d %H:%M:%S")
    cells = (began, call.call_id, clock(call.length_ms), str(call.turns), end(call), call.leg or "–", call.agent or "–")
    return tuple(map(printable, cells))


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Nothing is cut, however narrow the terminal is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
