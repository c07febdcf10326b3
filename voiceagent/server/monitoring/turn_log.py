"""A line in the log for each turn: how long the caller waited, what became of the reply, what was over budget. It holds no word
that was said."""

from __future__ import annotations

import logging
from collections import Counter

from voiceagent.call.observer import CallObserver
from voiceagent.conversation.actions import Action, Failure, GuardHit, ReplyEnded, ToolEnded
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.logs import TURNS

log = logging.getLogger(TURNS)


class TurnLog(CallObserver):
    """One per call."""

    def __init__(self) -> None:
        self._status = ""
        self._words = 0
        self._counts: Counter[str] = Counter()
        """Tools, by what became of them."""
        self._guarded: list[str] = []
        self._failures: list[str] = []

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Note what happens in the turn."""
        for action in actions:
            match action:
                case ToolEnded(ok=ok):
                    self._counts["ran" if ok else "failed"] += 1
                case GuardHit(rule=rule):
                    self._guarded.append(rule)
                case Failure(code):
                    self._failures.append(code)
                case ReplyEnded(status=status, heard=heard):
                    self._status, self._words = status, len(heard.split())

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Log the turn, as a warning if it was over budget or failed."""
        waited_ms = report.voice_to_voice_ms
        answered = "answered" if self._words else "nothing was heard"
        if waited_ms is not None:
            answered = f"answered after {waited_ms:.0f} ms"
        parts = [answered, f"reply {self._status}", f"{self._words} words heard"]
        if report.barge_in_stop_ms is not None:
            parts.append(f"stopped within {report.barge_in_stop_ms:.0f} ms")
        parts += [f"{_tools(count)} {what}" for what, count in self._counts.items()]
        parts += [f"guarded by {rule}" for rule in dict.fromkeys(self._guarded)]
        parts += dict.fromkeys(self._failures)
        over = [f"{miss.stage} {miss.measured_ms:.0f} of {miss.limit_ms:.0f} ms" for miss in misses]
        told = ", ".join(parts) + (f"; over budget: {', '.join(over)}" if over else "")
        level = logging.WARNING if over or self._failures else logging.INFO
        log.log(level, "call %s turn %d: %s", report.call_id, report.turn, told)
        self._counts.clear()
        self._guarded.clear()
        self._failures.clear()


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"
