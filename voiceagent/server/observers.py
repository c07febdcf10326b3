"""What the server keeps of a call: counters and times of every call, an event log of those that the operator wants it of."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation.actions import Action, GuardHit, SpeculationEnded, SpeculativeToolEnded
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.server.metrics import Metrics
from voiceagent.store.event_log import EventLog
from voiceagent.store.turns import TurnStore


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts, and keeps the times of turns."""

    metrics: Metrics
    store: TurnStore

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Count what became of speculative replies and of tools that ran speculatively, and what guards withheld."""
        for action in actions:
            if isinstance(action, SpeculationEnded):
                self.metrics.speculation_ended(action.outcome, action.tokens)
            elif isinstance(action, SpeculativeToolEnded):
                self.metrics.speculative_tool_ended(used=action.used, saved_ms=action.saved_ms)
            elif isinstance(action, GuardHit):
                self.metrics.withheld(action.direction, action.rule)

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Count the turn and keep its times."""
        self.metrics.turn(report, [miss.stage for miss in misses])
        if not self.store.put(report):
            self.metrics.queue_dropped("measured turns")

    def judged(self, outcome: str) -> None:
        """Count it."""
        self.metrics.turn_judged(outcome)

    def event_refused(self) -> None:
        """Count it."""
        self.metrics.queue_dropped("client events over the allowance")

    def ended(self) -> None:
        """The server counts that."""


@dataclass(frozen=True, slots=True)
class Logged:
    """Writes the event log."""

    log: EventLog

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Write the step."""
        self.log.record(event, actions)

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Times follow from the events."""

    def judged(self, outcome: str) -> None:
        """What a judge told is an event."""

    def event_refused(self) -> None:
        """The turn engine knows nothing of it."""

    def ended(self) -> None:
        """Close the file."""
        self.log.close()
