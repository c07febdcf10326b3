"""The terminal of a spoken call: each turn with its waterfall when it is over, and below them one line that changes, with the
words as they come. With JSON instead a line for each turn."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from voiceagent.cli.call_report import CallPrinter
from voiceagent.client.turns import HeardTurn, TurnReader
from voiceagent.json_types import JsonObject

KEYS = "space interrupts   m mutes   q hangs up   ? shows this"


def turn_data(turn: HeardTurn, said: str) -> JsonObject:
    """A turn as a line of JSON."""
    return {
        "type": "turn",
        "said": said,
        "heard": turn.heard,
        "unheard": turn.unheard,
        "tools": turn.tools,
        "turn": turn.measured,
        "failure": turn.failure or None,
    }


def print_line(**told: object) -> None:
    """A line of JSON, at once."""
    click.echo(json.dumps(told, ensure_ascii=False))


class TalkScreen:
    """`with TalkScreen(…) as screen:`. It takes the events of the call."""

    def __init__(self, *, as_json: bool, times: bool) -> None:
        self.reader = TurnReader()
        self.is_muted = False
        self._as_json, self._times = as_json, times
        self._console = Console(highlight=False, soft_wrap=True, stderr=as_json)
        self._print = CallPrinter(self._console)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._shown = 0
        self._partial = ""
        self._began_s = time.monotonic()

    def __enter__(self) -> TalkScreen:
        if not self._as_json:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._show(is_over=True)
        if not self._as_json:
            self._live.stop()

    @property
    def has_failed(self) -> bool:
        """True if a reply has failed."""
        return any(turn.failure for turn in self.reader.turns)

    def begin(self, call_id: str, agent: str, notes: list[str]) -> None:
        """The call is up."""
        if self._as_json:
            print_line(type="call", call=call_id, agent=agent)
            return
        self._print.line("call", Text(call_id).append(f"  {agent}", "dim"))
        for note in notes:
            self._print.note(note, "yellow")
        self.help()

    def help(self) -> None:
        """Show the keys."""
        if not self._as_json:
            self._print.note(KEYS)
            self.draw()

    def take(self, event: JsonObject) -> None:
        """An event of the server."""
        self.reader.take(event)
        kind = event.get("type")
        if kind == "voiceagent.transcript.partial":
            self._partial = f"{event.get('stable', '')} {event.get('unstable', '')}".strip()
        elif kind in ("conversation.item.input_audio_transcription.completed", "input_audio_buffer.speech_started"):
            self._partial = ""
        elif kind == "error" and not self._as_json:
            self._print.note(f"error: {event.get('error', {}).get('message', '')}", "red")
        self._show()
        self.draw()

    def mute(self, is_muted: bool) -> None:
        """Show that nothing is sent of the microphone."""
        self.is_muted = is_muted
        self.draw()

    def note(self, text: str) -> None:
        """A remark between turns."""
        if not self._as_json:
            self._print.note(text, "yellow")

    def draw(self) -> None:
        """Draw the line that changes."""
        if self._as_json:
            return
        turns = self.reader.turns
        saying = turns[-1].heard if turns and self._shown < len(turns) else ""
        who, words = ("agent", saying) if saying and not self._partial else ("you", self._partial or self.reader.pending)
        state = "muted" if self.is_muted else "speaking" if self.reader.is_replying else "listening"
        room = max(self._console.width - 20, 10)
        line = Text(f"{who if words else '':<7}", "bold dim", no_wrap=True)
        line.append(words if len(words) <= room else f"…{words[1 - room :]}", "italic")
        line.append(f"  [{state}]", "red" if self.is_muted else "dim")
        self._live.update(line, refresh=True)

    def _show(self, *, is_over: bool = False) -> None:
        """Print the turns that are over: those before the last one, and the last if nothing of it is missing."""
        turns = self.reader.turns
        for number, turn in enumerate(turns[self._shown :], self._shown):
            is_last = number == len(turns) - 1
            is_complete = turn.is_over and not turn.asks_client and (turn.measured is not None or not turn.caption)
            if is_last and not is_complete and not is_over:
                return
            self._shown = number + 1
            if self._as_json:
                print_line(**turn_data(turn, turn.caption))
                continue
            if turn.caption:
                self._print.line("you", Text(turn.caption))
            self._print.turn(turn, times=self._times)
            if turn.failure:
                self._print.note(f"failed: {turn.failure}", "red")
