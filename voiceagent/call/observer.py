"""Observers of a call: the metrics, the store, the event log. They decide nothing and carry nothing out; a `CallFeature` does."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.call.scope import EngineName
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport


class CallObserver:
    """Its methods are called on the event loop's thread and must return at once. Each does nothing unless it is overridden."""

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """The turn engine handled an event with these actions."""

    def out_of_phase(self, event: Event) -> None:
        """The event came in a phase of the call in which the turn engine does not handle it, so it will change nothing."""

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """A turn is over and was measured."""

    def judged(self, outcome: str) -> None:
        """A turn judge was asked. The outcome is told, unknown, failed or too_late."""

    def engine_used(self, engine: EngineName, problem: str) -> None:
        """An engine worked, or failed. `problem` is a slug, empty if it worked."""

    def event_refused(self) -> None:
        """The client sent too much, and one of its events was not read."""

    def ended(self) -> None:
        """The call is over."""


class Observers(CallObserver):
    """All observers of a call as one. The call ends each by itself, so that one that breaks keeps no other from its end."""

    def __init__(self, each: Sequence[CallObserver]) -> None:
        self.each = each

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.stepped(event, actions)

    def out_of_phase(self, event: Event) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.out_of_phase(event)

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.measured(report, misses)

    def judged(self, outcome: str) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.judged(outcome)

    def engine_used(self, engine: EngineName, problem: str) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.engine_used(engine, problem)

    def event_refused(self) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.event_refused()
