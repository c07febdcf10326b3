"""The options by which `voiceagent calls` chooses calls."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import click

from voiceagent.latency.spans import LegKind
from voiceagent.store.records import CallFilter

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
