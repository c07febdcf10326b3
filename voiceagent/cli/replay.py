"""`voiceagent replay`: a recorded call, decided again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
from msgspec.structs import fields

from voiceagent import __version__
from voiceagent.cli.calls import NO_DATA, show
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.conversation.machine import Replayed
from voiceagent.conversation.machine import replay as decide_again
from voiceagent.settings.agent import store_address
from voiceagent.store.event_log import EventLogError, Head, read_log


@click.command(
    epilog="""\b
Examples:
  voiceagent serve --event-logs 20       keep the event logs of the last 20 calls
  voiceagent calls list                  which there are
  voiceagent replay 8f2c                 what was decided in one, and whether it would be again
  voiceagent replay 8f2c --transcript    who said what, and what was heard
  voiceagent replay log.jsonl --quiet    only the verdict, of a file that `calls export --event-log` wrote

Exit codes: 0 every decision is the same, 1 one is not, 2 there is no such log or not all of it can be read."""
)
@click.argument("call")
@click.option("--all", "every", is_flag=True, help="Also events that nothing was decided upon.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
@click.option("--transcript", is_flag=True, help="Instead, the conversation, as `voiceagent calls show` prints it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the verdict, or the conversation.")
def replay(call: str, every: bool, quiet: bool, transcript: bool, as_json: bool) -> int:
    """Feed a recorded CALL, an id, the beginning of one, or a file, to the turn engine again, and compare every decision."""
    if transcript:
        return show(call, as_json=as_json)
    problem = ""
    events = decisions = 0
    different: list[tuple[int, Replayed]] = []
    try:
        head, steps = read_log(store_address(), call)
    except EventLogError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    lines: list[int] = []

    def pairs() -> Iterator[tuple[Event, tuple[Action, ...]]]:
        for step in steps:
            lines.append(step.line)
            yield step.event, step.actions

    try:
        for step in decide_again(head.rules, pairs(), head.left):
            events += 1
            decisions += len(step.now)
            if not step.same:
                different.append((lines[-1], step))
            if not quiet and not as_json and (every or step.now or not step.same):
                click.echo(_line(step))
    except EventLogError as error:
        problem = str(error)
    if as_json:
        verdict = {"call": head.call_id, "events": events, "decisions": decisions, "different": [line for line, _ in different]}
        click.echo(json.dumps({**verdict, **({"problem": problem} if problem else {})}))
    else:
        _tell(head, events, decisions, different)
    if problem:
        click.echo(f"error: {problem}; what comes before is replayed", err=True)
        return NO_DATA
    return 1 if different else 0


def _tell(head: Head, events: int, decisions: int, different: list[tuple[int, Replayed]]) -> None:
    click.echo(f"{head.call_id}: {events} events, {decisions} decisions, {len(different) or 'none'} different")
    for line, step in different[:1]:
        click.echo(f"first at line {line}:\n  then: {_actions(step.then)}\n  now:  {_actions(step.now)}")
        if head.version != __version__:
            click.echo(f"it was recorded by voiceagent {head.version}, this is {__version__}")


def _line(step: Replayed) -> str:
    mark = " " if step.same else "!"
    return f"{mark}{step.event.at_ms / 1000:9.3f} s  {step.phase.value:<10}  {_brief(step.event)}  →  {_actions(step.now)}"


def _actions(actions: tuple[Action, ...]) -> str:
    return ", ".join(map(_brief, actions)) or "nothing"


def _brief(thing: Event | Action) -> str:
    """The thing's name and its fields. A list is shown by its length only."""
    values = ((part.name, getattr(thing, part.name)) for part in fields(thing) if part.name != "at_ms")
    told = " ".join(f"{name}={_value(value)}" for name, value in values)
    return f"{type(thing).__name__}({told})"


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}"
    if isinstance(value, tuple):
        return f"[{len(value)}]"
    return repr(value) if isinstance(value, str) else str(value)
