"""Who looks on as a call goes: the metrics, the store, the event log. An observer decides nothing."""

from __future__ import annotations

from typing import Protocol

from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport


class CallObserver(Protocol):
    """Told on the event loop's thread: each method returns at once."""

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """The turn engine was given an event and decided this."""
        ...

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """A turn is over."""
        ...

    def judged(self, outcome: str) -> None:
        """A turn judge was asked: told, unknown, failed or too_late."""
        ...

    def event_refused(self) -> None:
        """The client sent too much; one of its events was not read."""
        ...

    def ended(self) -> None:
        """The call is over."""
        ...
