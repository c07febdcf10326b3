"""Take a recorded call's decisions again. The turn engine is a pure function of rules and events, so on the same code every
decision is the same; where one is not, the code decides differently than the one that recorded it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from voiceagent.conversation import machine
from voiceagent.conversation.actions import Action
from voiceagent.conversation.events import Event
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.state import Phase


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step, then and now."""

    event: Event
    phase: Phase
    """After the step."""
    then: tuple[Action, ...]
    now: tuple[Action, ...]

    @property
    def same(self) -> bool:
        """Whether the decisions are identical."""
        return self.then == self.now


def replay(rules: Rules, steps: Iterable[tuple[Event, tuple[Action, ...]]]) -> Iterator[Replayed]:
    """Each step of a recorded call, decided anew."""
    state = machine.start(rules)
    for event, then in steps:
        state, now = machine.step(state, event)
        yield Replayed(event, state.phase, then, now)
