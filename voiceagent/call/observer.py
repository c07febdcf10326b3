"""Observers and features of a call. Observers are the metrics, the store and the event log: they decide nothing and carry
nothing out. A feature is an observer that also takes part. It begins with the call, runs tasks of the call, and carries out
actions of the turn engine beside the call's own parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from voiceagent.call.scope import CallTasks, EngineName
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.conversation.state import State
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.llm.sent_prompt import SentPrompt


class CallObserver:
    """Its methods are called on the event loop's thread and must return at once. Each does nothing unless it is overridden."""

    def went_on(self, call_id: str, last: tuple[Action, ...]) -> None:
        """The call goes on here that another server has left under this id. `last` is what happened there, and was not noted: it
        was killed."""

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

    def prompted(self, prompt: SentPrompt) -> None:
        """The language model has got this prompt. Only an observer that its operator has asked may pass it on."""

    def event_refused(self) -> None:
        """The client sent too much, and one of its events was not read."""

    def ended(self) -> None:
        """The call is over."""


class Observers(CallObserver):
    """All observers of a call as one. The call ends each by itself, so that one that breaks keeps no other from its end."""

    def __init__(self, each: Sequence[CallObserver]) -> None:
        self.each = each
        self._watching = [observer for observer in each if type(observer).stepped is not CallObserver.stepped]
        """Those that watch the turn engine, which steps for each frame that is heard."""

    def went_on(self, call_id: str, last: tuple[Action, ...]) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.went_on(call_id, last)

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Tell each of them."""
        for observer in self._watching:
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

    def prompted(self, prompt: SentPrompt) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.prompted(prompt)

    def event_refused(self) -> None:
        """Tell each of them."""
        for observer in self.each:
            observer.event_refused()


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

    def tell_recording(self, *, is_recorded: bool) -> None:
        """Tell the clients that the call is recorded from now on, or no more."""
        ...

    def hide_card(self, keys: str) -> str:
        """The keys that the caller pressed, with a mark in place of a card's number."""
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
