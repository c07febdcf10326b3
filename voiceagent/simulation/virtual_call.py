"""A call in virtual time: the real turn engine, timers, and a leg that plays clauses and reports what was sent. It alone carries
out the turn engine's actions. Its owner moves the time, sends frames and fires timers. A subclass handles the actions that
concern neither the leg nor timers, and is told what the leg does.

A virtual call that moves its own clock. A heap of due times is its only clock; the timers and the leg follow it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import Rules

FRAME_MS = 20.0
WORD_MS = 260.0


@dataclass(slots=True)
class VirtualClause:
    """A clause's audio, and how much of it was sent."""

    reply_id: int
    clause: int
    duration_ms: float
    sent_ms: float = 0.0


class SimulatedPlayout:
    """Plays a simulated leg's clauses in order, in frames of 20 ms. It reports only the ends of words, because nothing is decided
    between them. Its owner calls `due` at the times that `next_ms` gives."""

    def __init__(self) -> None:
        self.queue: deque[VirtualClause] = deque()
        self.paused: set[int] = set()
        """Replies whose frames are held."""
        self._since_ms: float | None = None
        """The time for which `sent_ms` of the first clause is valid. None while nothing plays."""
        self._last: dict[int, tuple[int, float]] = {}

    def add(self, reply_id: int, clause: int, duration_ms: float, now_ms: float) -> None:
        """Queue a clause."""
        self.queue.append(VirtualClause(reply_id, clause, duration_ms))
        self._run(now_ms)

    def pause(self, reply_id: int, now_ms: float) -> None:
        """Send no frame of the reply."""
        self._reckon(now_ms)
        self.paused.add(reply_id)
        self._run(now_ms)

    def resume(self, reply_id: int, now_ms: float, from_ms: float | None = None) -> None:
        """Send the reply again. `from_ms` goes back to the beginning of a word of the first clause."""
        self.paused.discard(reply_id)
        if from_ms is not None and self.queue and self.queue[0].reply_id == reply_id:
            self.queue[0].sent_ms = min(from_ms, self.queue[0].sent_ms)
        self._run(now_ms)

    def cut(self, reply_id: int, clause: int, end_ms: float, now_ms: float) -> None:
        """Send nothing of a clause after `end_ms`, or nothing more if that was sent already."""
        self._reckon(now_ms)
        for queued in self.queue:
            if (queued.reply_id, queued.clause) == (reply_id, clause):
                queued.duration_ms = min(queued.duration_ms, max(end_ms, queued.sent_ms))
        self.queue = deque(queued for queued in self.queue if queued.sent_ms < queued.duration_ms)
        self._run(now_ms)

    def cancel(self, reply_id: int, now_ms: float) -> tuple[int, float]:
        """Remove the reply. Returns the last clause that was sent, and up to where."""
        self._reckon(now_ms)
        self.queue = deque(clause for clause in self.queue if clause.reply_id != reply_id)
        self.paused.discard(reply_id)
        self._run(now_ms)
        return self._last.pop(reply_id, (-1, 0.0))

    def next_ms(self) -> float | None:
        """The time of the next report: the first frame, or the end of a word. None while nothing plays."""
        if self._since_ms is None:
            return None
        first = self.queue[0]
        step = FRAME_MS if not first.sent_ms else WORD_MS - first.sent_ms % WORD_MS
        return self._since_ms + min(step, first.duration_ms - first.sent_ms)

    def due(self, now_ms: float) -> VirtualClause | None:
        """The first clause, with what was sent of it by now. It leaves the queue at its end."""
        if self._since_ms is None:
            return None
        self._reckon(now_ms)
        first = self.queue[0]
        if first.sent_ms >= first.duration_ms:
            self.queue.popleft()
            self._since_ms = None
            self._run(now_ms)
        return first

    def _reckon(self, now_ms: float) -> None:
        if self._since_ms is None:
            return
        first = self.queue[0]
        frames = int((now_ms - self._since_ms) / FRAME_MS + 1e-6)
        first.sent_ms = min(first.duration_ms, first.sent_ms + frames * FRAME_MS)
        self._since_ms += frames * FRAME_MS
        if first.sent_ms:
            self._last[first.reply_id] = (first.clause, first.sent_ms)

    def _run(self, now_ms: float) -> None:
        plays = bool(self.queue) and self.queue[0].reply_id not in self.paused
        if not plays:
            self._since_ms = None
        elif self._since_ms is None:
            self._since_ms = now_ms


Record = Callable[[ev.Event, tuple[act.AnyAction, ...]], None]


class VirtualCall:
    """One call. Its owner moves its time."""

    def __init__(self, rules: Rules, record: Record | None = None) -> None:
        """`record` is called with every event and its actions."""
        self.state = machine.start(rules)
        self.now_ms = 0.0
        self.leg_ms = 0.0
        """The time up to which the leg has sent its audio."""
        self.ended = ""
        """The reason why the call ended. Empty while it goes on."""
        self.timers: dict[str, float] = {}
        self.playout = SimulatedPlayout()
        self._record = record

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        """Give the turn engine an event, and carry out its actions."""
        self.state, actions = machine.step(self.state, event)
        if self._record is not None:
            self._record(event, actions)
        for action in actions:
            self._carry_out(action)
        return actions

    def _carry_out(self, action: act.AnyAction) -> None:
        match action:
            case act.PauseReply():
                self.playout.pause(action.reply_id, self.leg_ms)
            case act.ResumeReply():
                self.resumed(action)
                self.playout.resume(action.reply_id, self.leg_ms, action.from_ms if action.clause >= 0 else None)
                self.played_next()
            case act.EndClauseAt():
                self.cutting(action)
                self.playout.cut(action.reply_id, action.clause, action.end_ms, self.leg_ms)
                self.played_next()
            case act.CancelReply():
                self.cancelled(action.reply_id)
                clause, sent_ms = self.playout.cancel(action.reply_id, self.leg_ms)
                self.played_next()
                self.stopping(action.reply_id, clause, sent_ms)
            case act.SetTimer():
                self.timers[action.name] = action.due_ms
                self.timer_set(action.name, action.due_ms)
            case act.ClearTimer():
                del self.timers[action.name]
            case act.End():
                self.ended = action.reason
            case _:
                self.asked(action)

    def synthesised(
        self, reply_id: int, clause: int, words: tuple[ev.SpokenWord, ...], duration_ms: float, complete: bool = True
    ) -> None:
        """A clause, or its beginning, was synthesised. Queue its audio."""
        self.feed(ev.ClauseAudio(self.now_ms, reply_id, clause, duration_ms, words, complete))
        self.playout.add(reply_id, clause, duration_ms, self.leg_ms)
        self.played_next()

    def frame(self) -> None:
        """The leg sends a frame, if it has one."""
        self.leg_ms += FRAME_MS
        self.report()

    def report(self) -> None:
        """The leg reports what it has sent by now."""
        sent = self.playout.due(self.leg_ms)
        if sent is not None:
            self.sent(sent)
            self.feed(ev.Played(self.now_ms, sent.reply_id, sent.clause, sent.sent_ms))

    def stopped(self, reply_id: int, clause: int, sent_ms: float) -> None:
        """The leg reports how much of a cancelled reply was sent."""
        self.feed(ev.PlayoutStopped(self.now_ms, reply_id, clause, sent_ms))

    def fire(self, name: str) -> None:
        """A timer runs out."""
        del self.timers[name]
        self.feed(ev.TimerFired(self.now_ms, name))

    # --- what a subclass makes of it ---

    def asked(self, action: act.AnyAction) -> None:
        """An action that is not the leg's or a timer's."""

    def resumed(self, action: act.ResumeReply) -> None:
        """A paused reply is about to go on."""

    def cutting(self, action: act.EndClauseAt) -> None:
        """A clause is about to be cut."""

    def cancelled(self, reply_id: int) -> None:
        """A reply is about to be cancelled."""

    def stopping(self, reply_id: int, clause: int, sent_ms: float) -> None:
        """A cancelled reply was sent up to `sent_ms` of this clause. The leg reports it now, or later in a subclass."""
        self.stopped(reply_id, clause, sent_ms)

    def sent(self, clause: VirtualClause) -> None:
        """A clause was sent up to its `sent_ms`."""

    def played_next(self) -> None:
        """The next clause that the leg plays may have changed."""

    def timer_set(self, name: str, due_ms: float) -> None:
        """A timer was set."""


class TimedCall(VirtualCall):
    """One call. `run_until` moves its clock. Nothing happens after it has ended."""

    def __init__(self, rules: Rules, record: Record | None = None) -> None:
        super().__init__(rules, record)
        self.order = 0
        """The number of things scheduled so far. Things due at the same time are done in this order."""
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

    @override
    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        return () if self.ended else super().feed(event)

    @override
    def played_next(self) -> None:
        self._playing += 1
        due_ms = self.playout.next_ms()
        if due_ms is not None:
            self.after(due_ms - self.now_ms, self._play, self._playing)

    def _play(self, playing: int) -> None:
        if playing == self._playing:
            self.report()
            self.played_next()

    @override
    def stopping(self, reply_id: int, clause: int, sent_ms: float) -> None:
        self.after(self.stopping_ms(), self.stopped, reply_id, clause, sent_ms)

    @override
    def timer_set(self, name: str, due_ms: float) -> None:
        self.after(due_ms - self.now_ms, self._run_out, name, due_ms)

    def _run_out(self, name: str, due_ms: float) -> None:
        if self.timers.get(name) == due_ms:
            self.fire(name)

    # --- what a subclass makes of it ---

    def stopping_ms(self) -> float:
        """The time that the leg takes to report how much of a cancelled reply was sent."""
        return 0.0
