"""Replays the decisions of a recorded call. The turn engine is a pure function of rules and events, so the same code takes the
same decisions. A different decision shows that the code has changed. Pure."""

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
    """One step: the recorded decisions and the replayed ones."""

    event: Event
    phase: Phase
    """The phase after the step."""
    then: tuple[Action, ...]
    now: tuple[Action, ...]

    @property
    def same(self) -> bool:
        """Whether the decisions are identical."""
        return self.then == self.now


def replay(rules: Rules, steps: Iterable[tuple[Event, tuple[Action, ...]]]) -> Iterator[Replayed]:
    """Replay each step of a recorded call."""
    state = machine.start(rules)
    for event, then in steps:
        state, now = machine.step(state, event)
        yield Replayed(event, state.phase, then, now)
