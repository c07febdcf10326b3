"""The outcome of a call that `voiceagent call` makes: as text, while it goes on, and as data for `--json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange
from voiceagent.client.turns import HeardTurn
from voiceagent.client.voices import ChosenVoice
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import WaitCause

WIDTH = 32


def waterfall(turn: JsonObject) -> Table:
    """A `voiceagent.turn` event as bars of text, scaled to the caller's wait: a row for each part of the wait, in the order of a
    turn, then the whole, which is the rows' sum, and the stages that were over budget."""
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
    """The excess of a stage over its limit. Its work may have run beside other work, so that it is no part of the wait's sum."""
    wholes = ("voice_to_voice", "barge_in_stop")
    if stage in wholes:
        took_ms, limit_ms = turn[f"{stage}_ms"], turn[f"{stage}_limit_ms"]
    else:
        spans = [(span["duration_ms"], span["limit_ms"]) for span in turn["spans"] if span["stage"] == stage]
        took_ms, limit_ms = max(spans, key=lambda pair: pair[0], default=(None, None))
    return "over budget" if took_ms is None or limit_ms is None else f"over budget: {took_ms:.0f} ms of {limit_ms:.0f}"


STDOUT = "-"


@dataclass(slots=True)
class CallSoFar:
    """A call so far."""

    caller: Caller
    dialogue: Dialogue
    voice: ChosenVoice | None = None
    """The voice that has spoken the text; None when WAV files were said."""
    failure: str = ""
    """The reason for which the call broke off; empty if it did not."""

    @property
    def code(self) -> int:
        """The exit code: whether every utterance was answered, and no reply failed."""
        failures = [self.failure, *(exchange.failure for exchange in self.dialogue.exchanges)]
        return 1 if any(failures) or any(turn.failure for turn in self.dialogue.turns) else 0

    def data(self) -> JsonObject:
        """All of it, as JSON."""
        return {
            "call": self.caller.call_id,
            "url": self.caller.url,
            "voice": self.voice.name if self.voice else None,
            "greeting": self.dialogue.greeting,
            "turns": [turn for exchange in self.dialogue.exchanges for turn in _turns(exchange)],
            "errors": self.dialogue.errors,
            "ended": self.dialogue.call_end_reason or self.caller.end_reason,
            "failure": self.failure or None,
        }


def _turns(exchange: Exchange) -> list[JsonObject]:
    """The server's turns that answered an utterance. Speech of the agent that nobody asked for belongs to the turn beside it."""
    groups: list[list[HeardTurn]] = [[]]
    for turn in exchange.turns:
        if _is_asked(turn) and any(map(_is_asked, groups[-1])):
            groups.append([])
        groups[-1].append(turn)
    return [
        {
            "said": exchange.said,
            "part": number,
            "parts": len(groups),
            "caption": _joined(turn.caption for turn in group) or exchange.unanswered,
            "heard": _joined(turn.heard for turn in group),
            "unheard": _joined(turn.unheard for turn in group),
            "passed_over": _joined(turn.passed_over for turn in group),
            "tools": [tool for turn in group for tool in turn.tools],
            "turn": next((turn.measured for turn in group if turn.measured is not None), None),
            "voice_to_voice_ms": exchange.voice_to_voice_ms if number == len(groups) else None,
            "barge_in_stop_ms": exchange.barge_in_stop_ms if number == len(groups) else None,
            "failure": "; ".join(turn.failure for turn in group if turn.failure) or None,
        }
        for number, group in enumerate(groups, start=1)
    ]


def _is_asked(turn: HeardTurn) -> bool:
    return turn.measured is not None or bool(turn.caption)


def _joined(texts: Iterable[str]) -> str:
    return " ".join(filter(None, texts))


class CallPrinter:
    """Prints the lines of a conversation: who said what, and remarks below it."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, who: str, what: Text) -> None:
        """A line of somebody."""
        self.console.print(Text(f"{who:<7}", "bold").append_text(what))

    def note(self, what: str, style: str = "dim") -> None:
        """A remark."""
        self.console.print(Text(f"       {what}", style))

    def turn(self, turn: HeardTurn, *, times: bool = True) -> None:
        """The agent's side of a turn: tools, words and, where it was measured, the waterfall."""
        for tool in turn.tools:
            self.note(f"{tool['name']}({tool['arguments']}) → {tool['output']}", "cyan")
        heard = Text(turn.heard or "(nothing was heard)")
        if turn.unheard:
            heard.append(f" (not heard: {turn.unheard})", "dim")
        self.line("agent", heard)
        if turn.passed_over:
            self.note(f"went on over: {turn.passed_over}")
        if turn.measured is not None and times:
            self.console.print(waterfall(turn.measured))


class Report:
    """Prints a call as it goes on; everything once."""

    def __init__(self, *, to_stderr: bool) -> None:
        self._print = CallPrinter(Console(highlight=False, stderr=to_stderr, soft_wrap=True))
        self._shown = 0
        """The number of exchanges shown."""
        self._has_begun = self._has_greeted = False

    def show(self, outcome: CallSoFar) -> None:
        """Show the news of the call."""
        if not self._has_begun and outcome.caller.call_id:
            self._has_begun = True
            self._print.line("call", Text(outcome.caller.call_id))
            if outcome.voice is not None:
                remark = f"  {outcome.voice.remark}" if outcome.voice.remark else ""
                self._print.line("voice", Text(outcome.voice.name).append(remark, "dim"))
        if outcome.dialogue.has_greeted and not self._has_greeted:
            self._has_greeted = True
            self._print.line("agent", Text(outcome.dialogue.greeting or "(nothing was heard)"))
            if outcome.dialogue.turns[0].failure:
                self._print.note(f"failed: {outcome.dialogue.turns[0].failure}", "red")
        for exchange in outcome.dialogue.exchanges[self._shown :]:
            self._shown += 1
            self._exchange(exchange)

    def _exchange(self, exchange: Exchange) -> None:
        """An utterance: what was said, understood, done and heard, and the waterfalls of its turns."""
        self._print.line("you", Text(exchange.said))
        parts = sum(bool(turn.caption) for turn in exchange.turns)
        if parts > 1:
            self._print.note(f"the agent answered before the end: {parts} turns")
        if not exchange.caption:
            self._print.note("understood: (nothing)")
        for turn in exchange.turns:
            if turn.caption and (parts > 1 or turn.caption != exchange.said):
                self._print.note(f"understood: {turn.caption}")
            self._print.turn(turn)
        if exchange.unanswered:
            self._print.note(f"not answered: {exchange.unanswered}")
        self._print.note(f"received audio: {', '.join(_times(exchange)) or 'none'}")
        if exchange.failure:
            self._print.note(f"failed: {exchange.failure}", "red")


def _times(exchange: Exchange) -> Iterator[str]:
    if exchange.voice_to_voice_ms is not None:
        yield f"voice to voice {exchange.voice_to_voice_ms:.0f} ms"
    if exchange.barge_in_stop_ms is not None:
        yield f"stopped {exchange.barge_in_stop_ms:.0f} ms after the interruption"


def write(outcome: CallSoFar, record: Path | None, json_path: Path | None) -> bool:
    """Write what was asked for, as far as the call went. Returns True if all could be written; failures are reported."""
    problems = []
    if record is not None:
        try:
            outcome.caller.recording.write(record)
        except MediaError as error:
            problems.append(str(error))
    if json_path is not None:
        text = json.dumps(outcome.data(), indent=2, ensure_ascii=False) + "\n"
        try:
            if str(json_path) == STDOUT:
                click.echo(text, nl=False)
            else:
                json_path.write_text(text, encoding="utf-8")
        except OSError as error:
            problems.append(f"{json_path}: cannot be written ({error.strerror}); name a writable place for the JSON")
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    return not problems
