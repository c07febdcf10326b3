from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.media.playout import FADE_SAMPLES, FULL_S, MAX_REMEMBERED, Playout, Position


def ones(samples: int, value: int = 1) -> np.ndarray:
    return np.full(samples, value, dtype=np.int16)


def drain(playout: Playout) -> list[np.ndarray]:
    frames = []
    while (frame := playout.next_frame()) is not None:
        frames.append(frame)
    return frames


def test_audio_comes_out_in_frames_and_the_last_is_padded() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, ones(1000), complete=True)
    frames = drain(playout)
    assert [len(frame) for frame in frames] == [480, 480, 480]
    assert sum(int(frame.sum()) for frame in frames) == 1000
    assert sent == [(1, 0, 20.0), (1, 0, 40.0), (1, 0, 1000 * 1000 / PLAYED_HZ)]
    assert playout.frames_sent == 3


def test_a_leg_at_rest_is_told_when_there_is_something_to_say() -> None:
    told = 0

    def ready() -> None:
        nonlocal told
        told += 1
        assert not playout.idle

    playout = Playout(on_ready=ready)
    playout.pause(1)
    playout.push(1, 0, ones(480), complete=True)
    assert (told, playout.idle) == (0, True), "what is held is nothing to say"
    playout.resume(1)
    assert told == 1
    playout.pause(1)
    playout.push(2, 0, ones(480), complete=True)
    assert told == 1, "a held reply holds up those behind it"
    playout.cancel(1)
    assert told == 2
    drain(playout)
    playout.cancel(2)
    assert (told, playout.idle) == (2, True)


def test_a_frame_joins_clauses_and_reports_each() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, ones(240), complete=True)
    playout.push(1, 1, ones(240, 2), complete=True)
    playout.push(2, 0, ones(480, 3), complete=True)
    frame = playout.next_frame()
    assert frame is not None
    assert frame.tolist() == [1] * 240 + [2] * 240
    assert sent == [(1, 0, 10.0), (1, 1, 10.0)]


def test_it_does_not_wait_for_audio_that_is_still_being_made() -> None:
    playout = Playout()
    playout.push(1, 0, ones(600), complete=False)
    assert playout.next_frame() is not None
    late = playout.next_frame()
    assert late is not None
    assert int(late.sum()) == 120
    assert playout.underruns == 1
    assert playout.next_frame() is None
    playout.push(1, 0, ones(480), complete=True)
    assert playout.next_frame() is not None


def test_a_dropped_reply_says_how_far_it_was_sent_and_takes_nothing_more() -> None:
    playout = Playout()
    playout.push(1, 0, ones(4800), complete=True)
    playout.next_frame()
    playout.next_frame()
    assert playout.cancel(1) == (1, 0, 40.0)
    assert not playout.push(1, 1, ones(480), complete=True)
    assert playout.next_frame() is None
    assert playout.queued_ms == 0
    assert playout.cancel(2) == (2, -1, 0.0)


def test_a_frame_that_was_taken_counts_as_sent_for_a_drop_and_is_not_reported_after_it() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, ones(4800), complete=True)
    playout.take_frame()
    assert playout.cancel(1) == (1, 0, 20.0)
    playout.confirm_sent()
    assert sent == []


def test_an_unconfirmed_frame_is_not_in_the_ledger() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, ones(480), complete=True)
    playout.take_frame()
    assert sent == []
    playout.confirm_sent()
    assert sent == [(1, 0, 20.0)]


def test_a_held_reply_waits_and_goes_on_from_the_same_sample() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, np.arange(1, 961, dtype=np.int16), complete=True)
    first = playout.next_frame()
    playout.pause(1)
    playout.push(1, 1, ones(480), complete=True)
    tail = playout.next_frame()
    assert tail is not None
    assert not np.any(tail[120:]), "it fades out"
    assert [playout.next_frame() for _ in range(3)] == [None] * 3
    assert (playout.underruns, len(sent)) == (0, 1)
    playout.resume(1)
    second = playout.next_frame()
    assert first is not None
    assert second is not None
    assert first.tolist() == list(range(1, 481))
    assert second[120:].tolist() == list(range(601, 961))
    assert np.all(np.abs(second[:120]) <= np.arange(481, 601)), "it fades in"
    assert sent[-1] == (1, 0, 40.0)


def test_a_reply_may_be_held_before_it_has_audio_and_then_begins_at_full_level() -> None:
    playout = Playout()
    playout.pause(2)
    playout.push(1, 0, ones(240), complete=True)
    playout.push(2, 0, ones(480, 3), complete=True)
    frame = playout.next_frame()
    assert frame is not None
    assert frame.tolist() == [1] * 240 + [0] * 240
    assert playout.next_frame() is None
    playout.resume(2)
    frame = playout.next_frame()
    assert frame is not None
    assert frame.tolist() == [3] * 480


TONE = np.round(12_000 * np.sin(np.arange(PLAYED_HZ) / 12)).astype(np.int16)
STEEPEST = int(np.abs(np.diff(TONE.astype(int))).max())
"""Of the tone itself: a click jumps further."""


def leaps(frames: list[np.ndarray | None]) -> int:
    """The greatest step from one sample to the next of what the caller hears; no frame is silence."""
    silence = np.zeros(PLAYED_FRAME_SAMPLES, np.int16)
    heard = np.concatenate([silence, *(silence if frame is None else frame for frame in frames)])
    return int(np.abs(np.diff(heard.astype(int))).max())


def test_a_reply_falls_silent_and_goes_on_without_a_click() -> None:
    playout = Playout()
    playout.push(1, 0, TONE, complete=True)
    frames = [playout.next_frame() for _ in range(5)]
    playout.pause(1)
    frames += [playout.next_frame() for _ in range(5)]
    assert frames[-1] is None
    playout.resume(1, 0, 43.0)
    frames += [playout.next_frame() for _ in range(3)]
    assert leaps(frames) <= STEEPEST * 1.1


def test_a_reply_gets_softer_and_loud_again_without_a_click() -> None:
    playout = Playout()
    playout.push(1, 0, TONE, complete=True)
    frames = [playout.next_frame() for _ in range(3)]
    playout.attenuate(1, -12.0)
    frames += [playout.next_frame() for _ in range(3)]
    playout.attenuate(1, 0.0)
    frames += [playout.next_frame() for _ in range(3)]
    assert leaps(frames) <= STEEPEST * 1.1
    loudest = [int(np.abs(frame).max()) for frame in frames if frame is not None]
    assert loudest[4] == pytest.approx(12_000 * 10 ** (-12 / 20), rel=0.01)
    assert loudest[8] == pytest.approx(12_000, rel=0.01)


def test_a_soft_reply_that_is_held_fades_out_from_its_level_and_goes_on_at_its_own() -> None:
    playout = Playout()
    playout.push(1, 0, TONE, complete=True)
    frames = [playout.next_frame() for _ in range(2)]
    playout.attenuate(1, -12.0)
    frames += [playout.next_frame() for _ in range(2)]
    playout.pause(1)
    frames += [playout.next_frame() for _ in range(2)]
    playout.resume(1)
    frames += [playout.next_frame() for _ in range(2)]
    assert leaps(frames) <= STEEPEST * 1.1
    assert frames[-1] is not None
    assert int(np.abs(frames[-1]).max()) == pytest.approx(12_000, rel=0.01)


def test_the_reply_after_a_soft_one_is_at_its_full_level() -> None:
    playout = Playout()
    playout.push(1, 0, TONE, complete=True)
    playout.attenuate(1, -12.0)
    playout.next_frame()
    playout.cancel(1)
    playout.push(2, 0, ones(480, 1000), complete=True)
    frame = playout.next_frame()
    assert frame is not None
    assert frame.tolist() == [1000] * 480


def test_a_word_that_was_cut_is_sent_again_from_its_beginning() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, np.arange(4800, dtype=np.int16), complete=True)
    for _ in range(5):
        playout.next_frame()
    playout.pause(1)
    playout.next_frame()
    queued_ms = playout.queued_ms
    playout.resume(1, 0, 70.0)
    assert playout.queued_ms == queued_ms + 30
    frame = playout.next_frame()
    assert frame is not None
    assert frame[FADE_SAMPLES:].tolist() == list(range(70 * 24 + FADE_SAMPLES, 70 * 24 + 480))
    assert [played_ms for _, _, played_ms in sent] == [20, 40, 60, 80, 100, 90]
    drain(playout)
    assert sent[-1] == (1, 0, 200.0)


def test_going_back_never_goes_forward_and_never_before_the_clause() -> None:
    playout = Playout()
    playout.push(1, 0, np.arange(4800, dtype=np.int16), complete=True)
    playout.next_frame()
    playout.pause(1)
    playout.resume(1, 0, 90.0)
    frame = playout.next_frame()
    assert frame is not None
    assert frame[-1] == 959
    playout.pause(1)
    playout.resume(1, 0, -50.0)
    frame = playout.next_frame()
    assert frame is not None
    assert frame[-1] == 479


def test_a_held_reply_can_be_dropped() -> None:
    playout = Playout()
    playout.push(1, 0, ones(960), complete=True)
    playout.next_frame()
    playout.pause(1)
    assert playout.cancel(1) == (1, 0, 20.0)
    playout.resume(1)
    playout.push(2, 0, ones(480), complete=True)
    assert playout.next_frame() is not None


def test_what_it_remembers_is_bounded() -> None:
    playout = Playout()
    for reply_id in range(3 * MAX_REMEMBERED):
        playout.push(reply_id, 0, ones(480), complete=True)
        playout.next_frame()
        if reply_id % 2:
            playout.cancel(reply_id)
    assert len(playout._cancelled) <= MAX_REMEMBERED
    assert len(playout._last) <= MAX_REMEMBERED


def test_a_full_queue_says_so_and_still_takes_what_comes() -> None:
    playout = Playout()
    assert playout.push(1, 0, ones(int(FULL_S * PLAYED_HZ) - 1), complete=False)
    assert not playout.full
    assert playout.push(1, 0, ones(1), complete=False)
    assert playout.full
    assert playout.push(1, 0, ones(1), complete=True)
    playout.next_frame()
    assert not playout.full


@pytest.mark.parametrize("frames", [0, 1, 3])
def test_a_clause_that_breaks_off_fades_out_and_makes_way(frames: int) -> None:
    playout = Playout()
    playout.push(1, 0, np.full(4800, 1000, np.int16), complete=False)
    playout.push(1, 1, np.full(480, 2000, np.int16), complete=True)
    for _ in range(frames):
        playout.next_frame()
    playout.break_off(1, 0)
    sent = np.concatenate([frame for frame in (playout.next_frame(), playout.next_frame()) if frame is not None])
    assert playout.idle
    assert np.count_nonzero(sent == 2000) == 480
    fade = sent[: int(np.argmax(sent == 2000))]
    assert len(fade) == (FADE_SAMPLES if frames else 0)
    assert list(fade) == sorted(fade, reverse=True)


class PlayoutMachine(RuleBasedStateMachine):
    """Any order of pushes, frames and drops. Each sample's value names its reply."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Position] = []
        self.playout = Playout(self.sent.append)
        self.reply = 1
        self.clause = 0
        self.open = False
        self.dropped: set[int] = set()
        self.given: dict[int, int] = {}
        self.heard: dict[int, int] = {}

    @rule(samples=st.integers(0, 3000), complete=st.booleans())
    def push(self, samples: int, complete: bool) -> None:
        if not self.open:
            self.clause += 1
        accepted = self.playout.push(self.reply, self.clause, ones(samples, self.reply), complete=complete)
        assert accepted == (self.reply not in self.dropped)
        self.open = not complete
        if accepted:
            self.given[self.reply] = self.given.get(self.reply, 0) + samples

    @precondition(lambda self: not self.open)
    @rule()
    def next_reply(self) -> None:
        self.reply += 1
        self.clause = 0

    @rule()
    def frame(self) -> None:
        before = len(self.sent)
        frame = self.playout.next_frame()
        if frame is not None:
            assert frame.shape == (PLAYED_FRAME_SAMPLES,)
            for value, count in zip(*np.unique(frame[frame != 0], return_counts=True), strict=True):
                assert int(value) not in self.dropped
                self.heard[int(value)] = self.heard.get(int(value), 0) + int(count)
        assert all(position[0] not in self.dropped for position in self.sent[before:])

    @rule()
    def drop(self) -> None:
        reply_id, clause, played_ms = self.playout.cancel(self.reply)
        self.dropped.add(self.reply)
        self.open = False
        assert reply_id == self.reply
        last = next(((c, p) for r, c, p in reversed(self.sent) if r == reply_id), (-1, 0.0))
        assert (clause, played_ms) == last or clause == -1

    @invariant()
    def the_ledger_equals_the_frames(self) -> None:
        for reply_id, samples in self.heard.items():
            ends: dict[int, float] = {}
            for r, clause, played_ms in self.sent:
                if r == reply_id:
                    assert played_ms >= ends.get(clause, 0.0)
                    ends[clause] = played_ms
            assert round(sum(ends.values()) * PLAYED_HZ / 1000) == samples
        waiting = sum(n for r, n in self.given.items() if r not in self.dropped)
        out = sum(n for r, n in self.heard.items() if r not in self.dropped)
        assert round(self.playout.queued_ms * PLAYED_HZ / 1000) == waiting - out


TestAnyOrder = PlayoutMachine.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=30))
@settings(deadline=None)
def test_every_sample_comes_out_once_and_in_order(sizes: list[int]) -> None:
    playout = Playout()
    audio = np.arange(1, sum(sizes) + 1, dtype=np.int32).astype(np.int16)
    audio[audio == 0] = 1
    start = 0
    for index, size in enumerate(sizes):
        playout.push(1, index // 3, audio[start : start + size], complete=index % 3 == 2 or index == len(sizes) - 1)
        start += size
    frames = drain(playout)
    out = np.concatenate(frames) if frames else np.zeros(0, dtype=np.int16)
    assert out[: len(audio)].tolist() == audio.tolist()
    assert not out[len(audio) :].any()


def test_a_cut_clause_ends_there_and_the_next_follows() -> None:
    playout = Playout()
    playout.push(1, 0, np.full(4800, 1000, np.int16), complete=False)
    playout.push(1, 1, np.full(480, 2000, np.int16), complete=True)
    playout.next_frame()
    playout.end_clause(1, 0, 50.0)
    assert playout.push(1, 0, np.full(4800, 1000, np.int16), complete=True)
    assert playout.queued_ms == 30.0 + 20.0
    playout.next_frame()
    joined = playout.next_frame()
    assert joined is not None
    assert joined[0] == 1000
    assert joined[239] == 0
    assert joined[240] == 2000


def test_a_clause_that_is_cut_before_its_first_sample_is_not_heard() -> None:
    playout = Playout()
    playout.push(1, 0, np.full(4800, 1000, np.int16), complete=True)
    playout.push(1, 1, np.full(480, 2000, np.int16), complete=True)
    playout.end_clause(1, 0, 0.0)
    frame = playout.next_frame()
    assert frame is not None
    assert set(frame) == {2000}
    playout.end_clause(7, 0, 0.0)


def test_audio_that_was_not_heard_is_sent_again_over_several_clauses() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    for clause in range(3):
        playout.push(1, clause, ones(4800, clause + 1), complete=True)
    for _ in range(25):
        playout.next_frame()
    assert sent[-1] == (1, 2, 100.0)
    assert playout.rewind((1, 0, 100.0)) == (1, 0, 100.0)
    again = np.concatenate(drain(playout))
    assert [int((again == value).sum()) for value in (2, 3)] == [4800, 4800]
    assert 2400 - FADE_SAMPLES <= int((again == 1).sum()) <= 2400
    assert sent[-1] == (1, 2, 200.0)


def test_a_cue_comes_first_and_enters_no_ledger() -> None:
    sent: list[Position] = []
    playout = Playout(sent.append)
    playout.push(1, 0, ones(960), complete=True)
    playout.pause(1)
    playout.put_cue(1, ones(480, 7))
    playout.resume(1)
    assert playout.next_frame() is not None
    assert sent == []
    drain(playout)
    assert sent[-1] == (1, 0, 40.0)
