"""A call in virtual time: the real turn engine, a heap of due times as the only clock, timers, and a leg that plays clauses and
says what was sent. Who calls and which engines answer is up to a subclass, which is given every action that is not the leg's."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import Rules
from voiceagent.simulation.playout import Clause, SimulatedPlayout

Record = Callable[[ev.Event, tuple[act.Action, ...]], None]


class VirtualCall:
    """One call; `run_until` moves its clock."""

    def __init__(self, rules: Rules, record: Record | None = None) -> None:
        """`record` is given every event and what was decided on it."""
        self.state = machine.start(rules)
        self.now_ms = 0.0
        self.ended = ""
        """Why the call ended; empty while it goes on."""
        self.timers: dict[str, float] = {}
        self.order = 0
        """So many things were put off so far; what is due at the same time is done in that order."""
        self._record = record
        self._due: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._playout = SimulatedPlayout()
        self._playing = 0

    def run_until(self, end_ms: float) -> None:
        """Do what is due until then, or until the call ends or nothing is due any more."""
        while self._due and not self.ended and self.now_ms < end_ms:
            self.now_ms, _, do, args = heapq.heappop(self._due)
            do(*args)

    def after(self, ms: float, do: Callable[..., None], *args: Any) -> None:
        """Put something off."""
        self.order += 1
        heapq.heappush(self._due, (self.now_ms + max(0.0, ms), self.order, do, args))

    def feed(self, event: ev.Event) -> None:
        """Let the turn engine decide on an event, and carry out what it decides; nothing once the call has ended."""
        if self.ended:
            return
        self.state, actions = machine.step(self.state, event)
        if self._record is not None:
            self._record(event, actions)
        for action in actions:
            self._carry_out(action)

    def _carry_out(self, action: act.AnyAction) -> None:
        match action:
            case act.PauseReply():
                self._playout.pause(action.reply_id, self.now_ms)
            case act.ResumeReply():
                self.resumed(action)
                self._playout.resume(action.reply_id, self.now_ms, action.from_ms if action.clause >= 0 else None)
                self._play()
            case act.CancelReply():
                self.cancelled(action.reply_id)
                clause, sent_ms = self._playout.cancel(action.reply_id, self.now_ms)
                self._play()
                self.after(self.stopping_ms(), self._stopped, action.reply_id, clause, sent_ms)
            case act.SetTimer():
                self.timers[action.name] = action.due_ms
                self.after(action.due_ms - self.now_ms, self._fire, action.name, action.due_ms)
            case act.ClearTimer():
                self.timers.pop(action.name, None)
            case act.End():
                self.ended = action.reason
            case _:
                self.asked(action)

    def say(self, reply_id: int, clause: int, words: tuple[ev.SpokenWord, ...], duration_ms: float) -> None:
        """A clause was synthesised: queue its audio."""
        self.feed(ev.ClauseAudio(self.now_ms, reply_id, clause, duration_ms, words))
        self._playout.add(reply_id, clause, duration_ms, self.now_ms)
        self._play()

    def _play(self) -> None:
        self._playing += 1
        due_ms = self._playout.next_ms()
        if due_ms is not None:
            self.after(due_ms - self.now_ms, self._played, self._playing)

    def _played(self, playing: int) -> None:
        if playing != self._playing:
            return
        sent = self._playout.due(self.now_ms)
        if sent is not None:
            self.sent(sent)
            self.feed(ev.Played(self.now_ms, sent.reply_id, sent.clause, sent.sent_ms))
        self._play()

    def _stopped(self, reply_id: int, clause: int, sent_ms: float) -> None:
        self.feed(ev.PlayoutStopped(self.now_ms, reply_id, clause, sent_ms))

    def _fire(self, name: str, due_ms: float) -> None:
        if self.timers.get(name) == due_ms:
            del self.timers[name]
            self.fired(name)
            self.feed(ev.TimerFired(self.now_ms, name))

    # --- what a subclass makes of it ---

    def asked(self, action: act.AnyAction) -> None:
        """An action that is not the leg's or a timer's."""

    def resumed(self, action: act.ResumeReply) -> None:
        """A paused reply is about to go on."""

    def cancelled(self, reply_id: int) -> None:
        """A reply is about to be cancelled."""

    def stopping_ms(self) -> float:
        """How long the leg takes to say what of a cancelled reply was sent."""
        return 0.0

    def sent(self, clause: Clause) -> None:
        """So much of a clause was sent."""

    def fired(self, name: str) -> None:
        """A timer ran out."""
