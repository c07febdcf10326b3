"""What every part of a call needs: the call's id, its clock, its tasks, and a way to post events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.call.clock import CallClock
from voiceagent.call.tasks import CallTasks
from voiceagent.conversation.events import Event


@dataclass(frozen=True, slots=True)
class CallScope:
    """One per call."""

    call_id: str
    clock: CallClock
    tasks: CallTasks
    post: Callable[[Event], None]
    """Feed an event to the turn engine."""

    def now_ms(self) -> float:
        """The time on the call's clock."""
        return self.clock.now_ms()
