"""The observers of every call: counters, times of turns, a log line for each turn."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass

from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import EngineName
from voiceagent.conversation.actions import (
    Action,
    AgentChanged,
    Failure,
    GuardHit,
    NotUnderstood,
    ReplyEnded,
    SpeculationEnded,
    SpeculativeToolEnded,
    StepChanged,
    ToolEnded,
    ValueCollected,
)
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.logs import TURNS
from voiceagent.server.monitoring.engine_health import TOO_LATE
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.store.turns import TurnStore

NOTHING_TO_ANSWER = "nothing_to_answer"
"""The client's mistake: see `caller_turn.reply_requested`."""
OF_THE_MODEL = {"reply_timeout": TOO_LATE, "empty_reply": "empty"}
"""Failures of replies in which no engine raised an error, and how the language model failed."""


@dataclass(frozen=True, slots=True)
class Measured(CallObserver):
    """Counts events, and keeps the times of turns."""

    metrics: Metrics
    store: TurnStore

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Count failed replies, turns that were not understood, the outcomes of speculative replies and tool calls, and what
        guards withheld."""
        for action in actions:
            if isinstance(action, SpeculationEnded):
                self.metrics.speculation_ended(action.outcome, action.tokens)
            elif isinstance(action, SpeculativeToolEnded):
                self.metrics.speculative_tool_ended(used=action.used, saved_ms=action.saved_ms)
            elif isinstance(action, GuardHit):
                self.metrics.guarded.add(f"{action.direction}: {action.rule}")
            elif isinstance(action, AgentChanged):
                self.metrics.handoffs.add(action.agent)
            elif isinstance(action, StepChanged):
                self.metrics.steps.add(action.step)
            elif isinstance(action, ValueCollected):
                self.metrics.values.add(action.stage)
            elif isinstance(action, NotUnderstood):
                self.metrics.not_understood.add(action.answer)
            elif isinstance(action, Failure) and action.code != NOTHING_TO_ANSWER:
                self.metrics.failed_replies.add(action.code)
                if action.code in OF_THE_MODEL:
                    self.metrics.health.used("llm", OF_THE_MODEL[action.code])

    def out_of_phase(self, event: Event) -> None:
        """Count it by its kind."""
        self.metrics.events_out_of_phase.add(type(event).__name__)

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Count the turn and keep its times."""
        self.metrics.turn(report, [miss.stage for miss in misses])
        self.metrics.budget_actions.measured(report, misses)
        self.store.put(report)

    def judged(self, outcome: str) -> None:
        """Count it."""
        self.metrics.judgements.add(outcome)

    def engine_used(self, engine: EngineName, problem: str) -> None:
        """Count it if it failed, and judge whether the engine works."""
        self.metrics.health.used(engine, problem)

    def event_refused(self) -> None:
        """Count it."""
        self.metrics.queue_dropped("client events over the allowance")


log = logging.getLogger(TURNS)


class TurnLog(CallObserver):
    """Logs a line for each turn: how long the caller waited, what became of the reply, what was over budget. It holds no word
    that was said. One per call."""

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
        parts += ["degraded by " + " and ".join(report.facts.degraded)] if report.facts.degraded else []
        told = ", ".join(parts) + (f"; over budget: {', '.join(over)}" if over else "")
        level = logging.WARNING if over or self._failures else logging.INFO
        log.log(level, "call %s turn %d: %s", report.call_id, report.turn, told)
        self._counts.clear()
        self._guarded.clear()
        self._failures.clear()


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"
