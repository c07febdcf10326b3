"""A turn's stages as bars of text against their limits."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from voiceagent.json_types import JsonObject

WIDTH = 32


def waterfall(turn: JsonObject) -> Table:
    """A `voiceagent.turn` event as a table: one bar a stage, from the end of the caller's speech on. Earlier partials are left
    out."""
    spans = [span for span in turn["spans"] if span["start_ms"] >= 0]
    end_ms = max([span["start_ms"] + span["duration_ms"] for span in spans] + [1.0])
    table = Table(box=None, padding=(0, 1), show_header=False)
    for width in (6, 15, WIDTH, 8, 7, 11):
        table.add_column(min_width=width, no_wrap=True)
    for span in spans:
        start = round(span["start_ms"] / end_ms * WIDTH)
        length = max(1, round(span["duration_ms"] / end_ms * WIDTH))
        bar = " " * min(start, WIDTH - 1) + "█" * min(length, WIDTH - min(start, WIDTH - 1))
        limit = "" if span["limit_ms"] is None else f"of {span['limit_ms']:.0f}"
        style = "green" if span["ok"] else "bold red"
        over = "" if span["ok"] else "over budget"
        table.add_row("", span["stage"], Text(bar, style=style), f"{span['duration_ms']:.0f} ms", limit, over)
    return table
