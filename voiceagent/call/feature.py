"""A feature of a call: an observer that also takes part. It begins with the call, runs tasks of the call, and carries out actions
of the turn engine beside the call's own parts."""

from __future__ import annotations

from typing import Protocol

from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import CallTasks
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.conversation.state import State


class RunningCall(Protocol):
    """A call, to its features."""

    call_id: str
    state: State
    tasks: CallTasks
    """They end with the call."""

    def feed(self, event: Event) -> None:
        """Take an event."""
        ...

    def tell_key(self, key: str) -> None:
        """Tell the clients which key the caller pressed."""
        ...

    async def admit(self, event: Event) -> Event:
        """The event as the input guard lets it through, with what documents say about it."""
        ...

    def now_ms(self) -> float:
        """The time on the call's clock."""
        ...


class CallFeature(CallObserver):
    """Its methods are called on the event loop's thread and must return at once. Each does nothing unless it is overridden."""

    def begin(self, call: RunningCall) -> None:
        """The call begins to run."""

    def carry_out(self, action: Action) -> None:
        """Carry out an action that is the feature's. It is given every action, after the call's own parts."""
