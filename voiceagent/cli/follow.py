"""`voiceagent calls follow`: the events of a call, or the starts and ends of all calls, as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import click

from voiceagent.cli.output import clock, json_option, printable
from voiceagent.json_types import JsonObject
from voiceagent.settings.agent import events_address, store_address
from voiceagent.store.database import StoreError
from voiceagent.store.event_streams import (
    ALL_CALLS,
    Consumer,
    EventStreams,
    LostCallError,
    StreamedEvent,
    StreamError,
    check_id,
    follow,
)
from voiceagent.store.open_streams import open_streams
from voiceagent.store.schema import matching, several

FAILED, NO_DATA = 1, 2
LONGEST_VALUE = 200


@click.command(
    "follow",
    epilog="""\b
Examples:
  voiceagent calls follow                                 the starts and ends of all calls, until Ctrl+C
  voiceagent calls follow 8f2c                            a call's events, until it ends
  voiceagent calls follow 8f2c --after 40 --json          those behind event 40, for programs
  voiceagent calls follow --group billing --consumer one  those that no consumer of the group has been given

Events come from the Redis of $VOICEAGENT_EVENTS or, where it is not set, from the store of calls: see
docs/event-streams.md. With --group, an event counts as done once it is written to standard output.
Exit codes: 0 all is well, 1 the call's server went down, 2 there is no such call or nothing can be read.""",
)
@click.argument("call", required=False)
@click.option("--after", default="", metavar="ID", help="Begin behind this event. By default with the first that is kept.")
@click.option("--new", is_flag=True, help="Only what comes from now on.")
@click.option("--once", is_flag=True, help="End where nothing more is there yet.")
@click.option("--group", default="", metavar="NAME", help="Share the events with the other consumers of this group.")
@click.option("--consumer", default="", metavar="NAME", help="This consumer's name. It goes on where one of that name ended.")
@json_option
def follow_calls(call: str | None, after: str, new: bool, once: bool, group: str, consumer: str, as_json: bool) -> int:
    """Follow CALL, an id or the beginning of one, or the starts and ends of all calls. Each event is a line."""
    if bool(group) != bool(consumer):
        raise click.UsageError("--group and --consumer belong together")
    if ((group or new) and after) or (group and new):
        raise click.UsageError("name one of --after, --new and --group: each says where to begin")
    try:
        with open_streams(store_address(), events_address()) as streams:
            stream = ALL_CALLS if call is None else _whole_id(streams, call)
            if group:
                found = _consumed(Consumer(streams, stream, group, consumer), stream, once=once)
            else:
                begins = streams.last(stream) if new else check_id(after)
                found = _read(streams, stream, begins) if once else follow(streams, stream, begins)
            for event in found:
                click.echo(_as_json(event) if as_json else _as_line(event, stream))
    except LostCallError as error:
        click.echo(f"error: {error}", err=True)
        return FAILED
    except (StoreError, StreamError) as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    return 0


def _whole_id(streams: EventStreams, call: str) -> str:
    known = matching(streams.calls(call), call)
    if len(known) != 1:
        none = f"no events of a call {call[:80]!r} are kept; see docs/event-streams.md"
        raise StreamError(several(known, call) if known else none)
    return known[0]


def _read(streams: EventStreams, stream: str, after: str) -> Iterator[StreamedEvent]:
    while page := streams.read(stream, after):
        yield from page
        after = page[-1].id


def _consumed(consumer: Consumer, stream: str, *, once: bool) -> Iterator[StreamedEvent]:
    """Acknowledges each event when the next one is wanted: then it is written."""
    while True:
        page = consumer.take(wait_s=0.0) if once else consumer.take()
        for event in page:
            yield event
            consumer.acknowledge(event)
            if event.is_end and stream != ALL_CALLS:
                return
        if once and not page:
            return


def _as_json(event: StreamedEvent) -> str:
    return json.dumps({"id": event.id, **_fields(event)}, ensure_ascii=False)


def _as_line(event: StreamedEvent, stream: str) -> str:
    fields = _fields(event)
    kind = str(fields.pop("type", ""))
    if stream == ALL_CALLS:
        when = datetime.fromtimestamp(float(fields.pop("at", 0.0))).strftime("%Y-%m-%d %H:%M:%S")
        when = f"{when}  {fields.pop('call', '')}"
    else:
        when = f"{fields.pop('number', ''):>5}  {clock(float(fields.pop('at_ms', 0.0))):>8}"
    told = "  ".join(f"{name}={_short(value)}" for name, value in fields.items())
    return printable(f"{when}  {kind:<16}  {told}").rstrip()


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _fields(event: StreamedEvent) -> JsonObject:
    try:
        return event.read()
    except ValueError:
        return {"type": "damaged"}
