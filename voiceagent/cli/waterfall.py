"""What a caller waited for before the first sound of a reply, as bars of text: a row for each part of the wait, in the order of a
turn. The rows add up to the wait."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from voiceagent.json_types import JsonObject
from voiceagent.latency.wait import WaitCause

WIDTH = 32


def waterfall(turn: JsonObject) -> Table:
    """A `voiceagent.turn` event as a table, scaled to its wait, with the whole below and the stages that were over budget."""
    table = Table(box=None, padding=(0, 1), show_header=False)
    for width in (6, 15, WIDTH, 9):
        table.add_column(min_width=width, no_wrap=True)
    wait_ms = turn.get("wait_ms")
    if wait_ms is None:
        table.add_row("", "", Text("no sound of the reply was heard"), "")
    else:
        _add_parts(table, turn["wait"], wait_ms)
        limit_ms = None if turn["typed"] else turn["voice_to_voice_limit_ms"]
        limit = "" if limit_ms is None else f"limit {limit_ms:.0f} ms"
        table.add_row("", "text_to_voice" if turn["typed"] else "voice_to_voice", Text(limit), f"{wait_ms:.0f} ms")
    for stage in turn["missed"]:
        table.add_row("", stage, Text(_over(turn, stage), style="bold red"), "")
    return table


def _add_parts(table: Table, pieces: list[JsonObject], wait_ms: float) -> None:
    told_ms = 0.0
    for part in WaitCause:
        mine = [piece for piece in pieces if piece["part"] == part]
        if not mine:
            continue
        bar = [" "] * WIDTH
        for piece in mine:
            start = min(int(piece["start_ms"] / wait_ms * WIDTH), WIDTH - 1)
            end = max(start + 1, round((piece["start_ms"] + piece["duration_ms"]) / wait_ms * WIDTH))
            bar[start:end] = "█" * (min(end, WIDTH) - start)
        name = part.value if len(mine) == 1 else f"{part} ×{len(mine)}"
        before_ms, told_ms = told_ms, told_ms + sum(piece["duration_ms"] for piece in mine)
        figure = f"{round(told_ms) - round(before_ms)} ms"  # whole figures that add up to the whole wait's
        table.add_row("", name, Text("".join(bar), style="green"), figure)


def _over(turn: JsonObject, stage: str) -> str:
    """How far a stage is over its limit. Its work may have run beside other work, so that it is no part of the wait's sum."""
    wholes = ("voice_to_voice", "barge_in_stop")
    if stage in wholes:
        took_ms, limit_ms = turn[f"{stage}_ms"], turn[f"{stage}_limit_ms"]
    else:
        spans = [(span["duration_ms"], span["limit_ms"]) for span in turn["spans"] if span["stage"] == stage]
        took_ms, limit_ms = max(spans, key=lambda pair: pair[0], default=(None, None))
    return "over budget" if took_ms is None or limit_ms is None else f"over budget: {took_ms:.0f} ms of {limit_ms:.0f}"
