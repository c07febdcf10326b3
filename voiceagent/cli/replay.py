"""`voiceagent replay`: a recorded call, decided again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields

import click

from voiceagent import __version__
from voiceagent.config import data_dir
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.conversation.replay import Replayed
from voiceagent.conversation.replay import replay as decide_again
from voiceagent.store.event_log import EventLogError, event_logs_dir, find_log, read_log

NO_DATA = 2
MAX_TEXT = 40


@click.command(
    epilog="""\b
Examples:
  voiceagent serve --event-logs 20       keep the event logs of the last 20 calls
  voiceagent replay rtc_8f2c…            what was decided in one, and whether it would be again
  voiceagent replay call.jsonl --quiet   only the verdict

Exit codes: 0 every decision is the same, 1 one is not, 2 there is no such log or it cannot be read."""
)
@click.argument("call")
@click.option("--all", "every", is_flag=True, help="Also events that nothing was decided upon.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def replay(call: str, every: bool, quiet: bool, as_json: bool) -> int:
    """Feed a recorded CALL, an id or a file, to the turn engine again, and compare every decision."""
    events = decisions = 0
    different: list[tuple[int, Replayed]] = []
    try:
        head, steps = read_log(find_log(event_logs_dir(data_dir()), call))
        lines: list[int] = []

        def pairs() -> Iterator[tuple[Event, tuple[Action, ...]]]:
            for step in steps:
                lines.append(step.line)
                yield step.event, step.actions

        for step in decide_again(head.rules, pairs()):
            events += 1
            decisions += len(step.now)
            if not step.same:
                different.append((lines[-1], step))
            if not quiet and not as_json and (every or step.now or not step.same):
                click.echo(_line(step))
    except EventLogError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    if as_json:
        verdict = {"call": head.call_id, "events": events, "decisions": decisions, "different": [line for line, _ in different]}
        click.echo(json.dumps(verdict))
    else:
        click.echo(f"{head.call_id}: {events} events, {decisions} decisions, {len(different) or 'none'} different")
        for line, step in different[:1]:
            click.echo(f"first at line {line}:\n  then: {_actions(step.then)}\n  now:  {_actions(step.now)}")
            if head.version != __version__:
                click.echo(f"it was recorded by voiceagent {head.version}, this is {__version__}")
    return 1 if different else 0


def _line(step: Replayed) -> str:
    mark = " " if step.same else "!"
    return f"{mark}{step.event.at_ms / 1000:9.3f} s  {step.phase.value:<10}  {_brief(step.event)}  →  {_actions(step.now)}"


def _actions(actions: tuple[Action, ...]) -> str:
    return ", ".join(map(_brief, actions)) or "nothing"


def _brief(thing: Event | Action) -> str:
    """Its name, and those of its fields that are short enough to read."""
    values = ((part.name, getattr(thing, part.name)) for part in fields(thing) if part.name != "at_ms")
    told = " ".join(f"{name}={_value(value)}" for name, value in values)
    return f"{type(thing).__name__}({told})"


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}"
    if isinstance(value, tuple):
        return f"[{len(value)}]"
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…")
    return str(value)
