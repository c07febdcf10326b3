"""What was heard of audio that a peer keeps: marks, and the playout whose ledger they feed."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.media.playout import Playout, Position
from voiceagent.telephone.streams.player import FORGIVEN, GRACE_S, MarkLedger


def ramp(samples: int, start: int = 1) -> np.ndarray:
    return np.arange(start, start + samples, dtype=np.int16)


def test_a_mark_that_comes_back_tells_all_that_was_before_it() -> None:
    marks = MarkLedger()
    names = [marks.put([(1, 0, 100.0 * step)], 5, step / 10) for step in range(1, 4)]
    assert marks.reached(names[1], 0.5) == [(1, 0, 100.0), (1, 0, 200.0)]
    assert (marks.frames, marks.stale) == (5, 0)


def test_a_mark_of_what_was_dropped_is_stale_and_tells_nothing() -> None:
    marks = MarkLedger()
    name = marks.put([(1, 0, 100.0)], 5, 0.1)
    marks.forget()
    fresh = marks.put([(2, 0, 20.0)], 1, 0.2)
    assert marks.reached(name, 0.5) == []
    assert marks.reached("of another stream", 0.5) == []
    assert (marks.stale, marks.hold(1), marks.hold(2)) == (2, False, True)
    assert marks.reached(fresh, 0.5) == [(2, 0, 20.0)]


def test_a_peer_that_never_sends_marks_is_believed_by_the_clock_after_a_few() -> None:
    marks = MarkLedger()
    for number in range(FORGIVEN):
        marks.put([(1, number, 20.0)], 1, 1.0)
        assert marks.overdue(1.0 + GRACE_S - 0.01) == []
        assert marks.overdue(1.0 + GRACE_S) == [(1, number, 20.0)]
    late = marks.put([(1, 9, 20.0)], 1, 5.0)
    assert marks.overdue(4.99) == []
    assert marks.overdue(5.0) == [(1, 9, 20.0)]
    assert marks.missing == FORGIVEN + 1
    marks.reached(late, 5.1)
    assert marks.reached(marks.put([(2, 0, 20.0)], 1, 9.0), 9.1) == [(2, 0, 20.0)]
    marks.put([(2, 1, 20.0)], 1, 10.0)
    assert marks.overdue(10.0) == [], "who sends one is waited for again"


def test_a_peer_whose_marks_come_in_time_again_is_waited_for_after_a_stall() -> None:
    marks = MarkLedger()
    stalled = [marks.put([(1, number, 20.0)], 1, 1.0) for number in range(FORGIVEN)]
    assert len(marks.overdue(1.0 + GRACE_S)) == FORGIVEN
    for name in stalled:
        assert marks.reached(name, 1.5 + GRACE_S) == [], "too late"
    by_clock = marks.put([(1, 8, 20.0)], 1, 5.0)
    assert marks.overdue(5.0) == [(1, 8, 20.0)]
    assert marks.reached(by_clock, 5.1) == [], "that was counted already"
    marks.put([(1, 9, 20.0)], 1, 6.0)
    assert marks.overdue(6.0 + GRACE_S - 0.01) == []


def test_a_peer_that_never_sends_marks_may_send_any_names() -> None:
    marks = MarkLedger(come_back=False)
    for number in range(1000):
        name = marks.put([(1, number, 20.0)], 1, 1.0 + number)
        assert marks.overdue(1.0 + number) == [(1, number, 20.0)]
        marks.reached("of another stream", 1.0)
    assert marks.reached(name, 1000.1) == []
    marks.put([(2, 0, 20.0)], 1, 1001.0)
    assert marks.overdue(1001.0) == [(2, 0, 20.0)], "this one says that it has none"


def test_a_paused_reply_goes_on_with_what_was_taken_and_not_played() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.on_halt = lambda reply_id: playout.recall()
    playout.push(1, 0, ramp(PLAYED_FRAME_SAMPLES), complete=True)
    playout.push(1, 1, ramp(2 * PLAYED_FRAME_SAMPLES, 1001), complete=True)
    played = []
    for _ in range(3):
        assert playout.take_frame() is not None
        played.append(playout.taken())
    assert playout.idle
    playout.confirm(played[0])
    playout.pause(1)
    assert playout.take_frame() is None
    playout.resume(1)
    frame = playout.take_frame()
    assert frame is not None
    assert frame[200:].tolist() == ramp(PLAYED_FRAME_SAMPLES, 1001)[200:].tolist(), "the second clause, from its beginning"
    assert playout.cancel(1) == (1, 0, 20.0)
    assert sent == [(1, 0, 20.0)]


def test_a_reply_that_is_cancelled_takes_nothing_from_one_that_is_played() -> None:
    playout = Playout()
    playout.on_halt = lambda reply_id: playout.recall()
    playout.push(2, 0, ramp(2 * PLAYED_FRAME_SAMPLES), complete=True)
    first = playout.take_frame()
    playout.cancel(1)
    again = playout.take_frame()
    assert first is not None
    assert again is not None
    assert again[200:].tolist() == first[200:].tolist()


class KeepingPeer(RuleBasedStateMachine):
    """A playout whose peer keeps frames, plays them in order, and drops them when it is told to. What the ledger says was heard
    was played, and nothing is lost or heard twice but what a pause took back."""

    def __init__(self) -> None:
        super().__init__()
        self.playout = Playout(self.ledger_grew)
        self.playout.on_halt = self.halt
        self.kept: deque[list[Position]] = deque()
        self.reported: list[Position] = []
        self.played: list[Position] = []
        self.reply = 1
        self.clause = 0

    def ledger_grew(self, position: Position) -> None:
        self.reported.append(position)

    def halt(self, reply_id: int) -> None:
        if any(position[0] == reply_id for positions in self.kept for position in positions):
            self.kept.clear()
            self.playout.recall()

    @rule(samples=st.integers(0, 3000), complete=st.booleans())
    def push(self, samples: int, complete: bool) -> None:
        self.playout.push(self.reply, self.clause, ramp(samples), complete=complete)
        self.clause += complete

    @rule()
    def take(self) -> None:
        if len(self.kept) < 20 and (self.playout.take_frame() is not None or not self.playout.idle):
            self.kept.append(self.playout.taken())

    @rule()
    def play(self) -> None:
        if self.kept:
            positions = self.kept.popleft()
            self.played += positions
            self.playout.confirm(positions)

    @rule()
    def pause(self) -> None:
        self.playout.pause(self.reply)

    @rule()
    def resume(self) -> None:
        self.playout.resume(self.reply)

    @rule()
    def cancel(self) -> None:
        mine = [position for position in self.played if position[0] == self.reply]
        assert self.playout.cancel(self.reply) == (mine[-1] if mine else (self.reply, -1, 0.0))
        self.reply += 1
        self.clause = 0

    @invariant()
    def what_is_reported_was_played(self) -> None:
        assert self.reported == self.played

    @invariant()
    def nothing_is_skipped(self) -> None:
        mine = [position for position in self.played if position[0] == self.reply]
        for before, after in itertools.pairwise(mine):
            assert after[1] in (before[1], before[1] + 1)
            if after[1] == before[1]:
                assert before[2] <= after[2] <= before[2] + 1000 * PLAYED_FRAME_SAMPLES / PLAYED_HZ + 0.01

    @invariant()
    def the_queue_counts_what_is_queued(self) -> None:
        queued = sum(len(part) for clause in self.playout._clauses for part in clause.buffer)
        assert self.playout.queued_ms == queued * 1000.0 / PLAYED_HZ


KeepingPeer.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestKeepingPeer = KeepingPeer.TestCase
