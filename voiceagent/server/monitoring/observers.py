"""What the server records of a call: counters and times of every call, and an event log of each call for which the operator wants
one."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import EngineName
from voiceagent.conversation.actions import Action, Failure, GuardHit, NotUnderstood, SpeculationEnded, SpeculativeToolEnded
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.server.monitoring.engine_health import TOO_LATE
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.store.event_log import EventLog
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
                self.metrics.withheld(action.direction, action.rule)
            elif isinstance(action, NotUnderstood):
                self.metrics.turn_not_understood(action.answer)
            elif isinstance(action, Failure) and action.code != NOTHING_TO_ANSWER:
                self.metrics.reply_failed(action.code)
                if action.code in OF_THE_MODEL:
                    self.metrics.health.used("llm", OF_THE_MODEL[action.code])

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Count the turn and keep its times."""
        self.metrics.turn(report, [miss.stage for miss in misses])
        if not self.store.put(report):
            self.metrics.queue_dropped("measured turns")

    def judged(self, outcome: str) -> None:
        """Count it."""
        self.metrics.turn_judged(outcome)

    def engine_used(self, engine: EngineName, problem: str) -> None:
        """Count it if it failed, and judge whether the engine works."""
        self.metrics.health.used(engine, problem)

    def event_refused(self) -> None:
        """Count it."""
        self.metrics.queue_dropped("client events over the allowance")


@dataclass(frozen=True, slots=True)
class Logged(CallObserver):
    """Writes the event log."""

    log: EventLog

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Write the step."""
        self.log.record(event, actions)

    def ended(self) -> None:
        """Close the file."""
        self.log.close()
