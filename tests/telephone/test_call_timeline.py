"""Both sides of a call stand where they belong: silence is kept, what comes in a run stands in a row, what is not played is
gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.telephone.features.recording_file import MAX_AHEAD, MAX_BURST, CallTimeline

FRAME = HEARD_HZ // 50


def frame(value: int) -> NDArray[np.int16]:
    return np.full(FRAME, value, np.int16)


def test_each_side_has_its_channel_and_its_time() -> None:
    timeline = CallTimeline()
    for at in range(50):
        timeline.put("caller", frame(1), at * FRAME)
        if at >= 25:
            timeline.put("agent", frame(2), at * FRAME)
    taken = np.concatenate([timeline.take(10 * FRAME + 7), timeline.take(50 * FRAME)])
    assert taken.shape == (HEARD_HZ, 2)
    assert (taken[:, 0] == 1).all()
    assert not taken[: HEARD_HZ // 2, 1].any()
    assert (taken[HEARD_HZ // 2 :, 1] == 2).all()


def test_frames_that_come_late_in_a_run_stand_in_a_row_and_a_silent_side_is_silent() -> None:
    timeline = CallTimeline()
    for at in (0, 5, 5, 5, 5, 5):
        timeline.put("caller", frame(1), at * FRAME)
    timeline.put("caller", frame(3), 100 * FRAME)
    taken = timeline.take(101 * FRAME)[:, 0]
    assert (taken[: 6 * FRAME] == 1).all()
    assert not taken[6 * FRAME : 100 * FRAME].any()
    assert (taken[100 * FRAME :] == 3).all()


def test_what_the_agent_does_not_say_after_all_is_not_in_it() -> None:
    timeline = CallTimeline()
    for _ in range(4):
        timeline.put("agent", frame(2), 0)
    timeline.drop_agent(FRAME + 10)
    timeline.put("agent", frame(5), 2 * FRAME)
    taken = timeline.take(4 * FRAME)[:, 1]
    assert (taken[: FRAME + 10] == 2).all()
    assert (taken[FRAME + 10 :][:FRAME] == 5).all()


def live(timeline: CallTimeline, since: int, until: int, value: int) -> None:
    """The caller speaks, and each frame comes at once."""
    for at in range(since, until):
        timeline.put("caller", frame(value), at * FRAME)


def values(pcm: NDArray[np.int16]) -> list[int]:
    """What stands in each frame."""
    assert len(pcm) % FRAME == 0
    frames = pcm.reshape(-1, FRAME)
    assert (frames == frames[:, :1]).all(), "no frame is cut"
    return [int(value) for value in frames[:, 0]]


@pytest.mark.parametrize("stall", [15, 100, 250])
@pytest.mark.parametrize("fills", [False, True])
def test_audio_that_stalls_and_comes_at_once_stands_where_it_was_said(stall: int, fills: bool) -> None:
    timeline = CallTimeline()
    live(timeline, 0, 50, 1)
    for _ in range(stall if fills else 0):
        timeline.miss("caller")
    for number in range(stall):
        timeline.put("caller", frame(0 if number % 5 == 4 else 2), (50 + stall - 1) * FRAME)
    live(timeline, 50 + stall, 150 + stall, 3)
    said = [0 if number % 5 == 4 else 2 for number in range(stall)]
    assert values(timeline.take((150 + stall) * FRAME)[:, 0]) == [1] * 50 + said + [3] * 100


def test_a_burst_whose_place_is_taken_is_kept_whole_and_pauses_bring_the_caller_back_to_the_clock() -> None:
    timeline = CallTimeline()
    live(timeline, 0, 50, 1)
    taken = [timeline.take(150 * FRAME)]
    for _ in range(100):
        timeline.put("caller", frame(2), 150 * FRAME)
    live(timeline, 151, 200, 3)
    live(timeline, 200, 300, 0)
    live(timeline, 300, 350, 4)
    taken.append(timeline.take(400 * FRAME))
    heard = values(np.concatenate(taken)[:, 0])
    assert [heard.count(value) for value in (1, 2, 3, 4)] == [50, 100, 49, 50]
    assert heard.index(4) - 300 <= 10, "within what a network's jitter makes"


def test_two_stalls_and_a_pause_keep_their_order_and_lose_nothing() -> None:
    timeline = CallTimeline()
    live(timeline, 0, 10, 1)
    for _ in range(60):
        timeline.put("caller", frame(2), 70 * FRAME)
    for _ in range(30):
        timeline.put("caller", frame(3), 105 * FRAME)
    live(timeline, 200, 210, 4)
    heard = values(timeline.take(250 * FRAME)[:, 0])
    assert [heard.count(value) for value in (1, 2, 3, 4)] == [10, 60, 30, 10]
    assert [value for at, value in enumerate(heard) if value and (not at or heard[at - 1] != value)] == [1, 2, 3, 4]
    assert heard.index(4) == 200


@pytest.mark.parametrize("drift", [-0.002, -0.0001, 0.0001, 0.002])
def test_a_clock_that_is_faster_or_slower_is_followed(drift: float) -> None:
    timeline, taken, frames = CallTimeline(), 0, 15_000
    spoken = 0
    for number in range(frames):
        at = int(number * FRAME * (1 - drift))
        timeline.put("caller", frame(1 if number % 250 < 200 else 0), at)
        if number % 50 == 0:
            pcm = timeline.take(at - 6 * HEARD_HZ)
            taken, spoken = taken + len(pcm), spoken + int(pcm[:, 0].sum())
        assert timeline.caller_end - at < HEARD_HZ // 2
    spoken += int(timeline.take(timeline.caller_end)[:, 0].sum())
    assert spoken == FRAME * frames * 4 // 5, "no word is lost"


def test_a_caller_who_sends_too_much_is_bounded() -> None:
    timeline = CallTimeline()
    for at in range(0, 100 * HEARD_HZ, HEARD_HZ):
        for _ in range(200):
            timeline.put("caller", frame(1), at)
        assert timeline.caller_end - at <= MAX_AHEAD + MAX_BURST + FRAME
        timeline.take(at)


@given(
    st.lists(
        st.tuples(st.sampled_from(["caller", "agent", "drop", "take"]), st.integers(0, 3 * HEARD_HZ), st.integers(0, 2000)),
        max_size=60,
    )
)
def test_whatever_comes_in_whatever_order_is_bounded_and_taken_once(steps: list[tuple[str, int, int]]) -> None:
    timeline, now, taken = CallTimeline(), 0, 0
    for kind, onward, size in steps:
        now += onward
        if kind == "take":
            taken += len(timeline.take(now))
            assert taken == now
        elif kind == "drop":
            timeline.drop_agent(now)
        else:
            timeline.put("caller" if kind == "caller" else "agent", np.ones(size, np.int16), now)
    furthest = MAX_AHEAD + MAX_BURST
    left = timeline.take(now + furthest + 10_000)
    assert len(left) == now + furthest + 10_000 - taken
    assert not left[-7000:].any(), "nobody is further ahead"
