"""What every part of a call needs: the call's id, its clock, its tasks, and a way to post events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from voiceagent.call.clock import CallClock
from voiceagent.call.tasks import CallTasks
from voiceagent.conversation.events import Event

EngineName = Literal["llm", "stt", "tts"]


def _count_nothing(engine: EngineName, problem: str) -> None:
    """For a call that nobody watches."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """One per call."""

    call_id: str
    clock: CallClock
    tasks: CallTasks
    post: Callable[[Event], None]
    """Feed an event to the turn engine."""
    engine_used: Callable[[EngineName, str], None] = _count_nothing
    """Note that an engine worked, or how it failed: a slug, empty if it worked."""

    def now_ms(self) -> float:
        """The time on the call's clock."""
        return self.clock.now_ms()
