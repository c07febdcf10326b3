"""A virtual call that moves its own clock. A heap of due times is its only clock; the timers and the leg follow it."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules
from voiceagent.simulation.virtual_call import Record, VirtualCall


class TimedCall(VirtualCall):
    """One call. `run_until` moves its clock. Nothing happens after it has ended."""

    def __init__(self, rules: Rules, record: Record | None = None) -> None:
        super().__init__(rules, record)
        self.order = 0
        """How many things were scheduled so far. Things due at the same time are done in this order."""
        self._due: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._playing = 0

    def run_until(self, end_ms: float) -> None:
        """Do what is due until `end_ms`, until the call ends, or until nothing is left to do."""
        while self._due and not self.ended and self.now_ms < end_ms:
            self.now_ms, _, do, args = heapq.heappop(self._due)
            self.leg_ms = self.now_ms
            do(*args)

    def after(self, ms: float, do: Callable[..., None], *args: object) -> None:
        """Schedule a function `ms` from now."""
        self.order += 1
        heapq.heappush(self._due, (self.now_ms + max(0.0, ms), self.order, do, args))

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        """See `VirtualCall.feed`."""
        return () if self.ended else super().feed(event)

    def played_next(self) -> None:
        """See `VirtualCall.played_next`."""
        self._playing += 1
        due_ms = self.playout.next_ms()
        if due_ms is not None:
            self.after(due_ms - self.now_ms, self._play, self._playing)

    def _play(self, playing: int) -> None:
        if playing == self._playing:
            self.report()
            self.played_next()

    def stopping(self, reply_id: int, clause: int, sent_ms: float) -> None:
        """See `VirtualCall.stopping`."""
        self.after(self.stopping_ms(), self.stopped, reply_id, clause, sent_ms)

    def timer_set(self, name: str, due_ms: float) -> None:
        """See `VirtualCall.timer_set`."""
        self.after(due_ms - self.now_ms, self._run_out, name, due_ms)

    def _run_out(self, name: str, due_ms: float) -> None:
        if self.timers.get(name) == due_ms:
            self.fire(name)

    # --- what a subclass makes of it ---

    def stopping_ms(self) -> float:
        """How long the leg takes to report how much of a cancelled reply was sent."""
        return 0.0
