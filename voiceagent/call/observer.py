"""Observers of a call: the metrics, the store, the event log. They decide nothing themselves: one that
finds something out feeds the call an event."""

from __future__ import annotations

from typing import Protocol

from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport


class CallObserver:
    """Its methods are called on the event loop's thread and must return at once. Each does nothing unless it is overridden."""

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """The turn engine handled an event with these actions."""

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """A turn is over and was measured."""

    def judged(self, outcome: str) -> None:
        """A turn judge was asked. The outcome is told, unknown, failed or too_late."""

    def event_refused(self) -> None:
        """The client sent too much, and one of its events was not read."""

    def ended(self) -> None:
        """The call is over."""


class FedCall(Protocol):
    """A call, to an observer that decides something."""

    call_id: str

    def feed(self, event: Event) -> None:
        """Take an event."""
        ...

    def now_ms(self) -> float:
        """The time on the call's clock."""
        ...
