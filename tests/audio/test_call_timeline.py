"""Both sides of a call stand where they belong: silence is kept, what comes in a run stands in a row, what is not played is
gone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from voiceagent.audio.call_timeline import MAX_AHEAD, RATE_HZ, CallTimeline

FRAME = RATE_HZ // 50


def frame(value: int) -> NDArray[np.int16]:
    return np.full(FRAME, value, np.int16)


def test_each_side_has_its_channel_and_its_time() -> None:
    timeline = CallTimeline()
    for at in range(50):
        timeline.put("caller", frame(1), at * FRAME)
        if at >= 25:
            timeline.put("agent", frame(2), at * FRAME)
    taken = np.concatenate([timeline.take(10 * FRAME + 7), timeline.take(50 * FRAME)])
    assert taken.shape == (RATE_HZ, 2)
    assert (taken[:, 0] == 1).all()
    assert not taken[: RATE_HZ // 2, 1].any()
    assert (taken[RATE_HZ // 2 :, 1] == 2).all()


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


@given(
    st.lists(
        st.tuples(st.sampled_from(["caller", "agent", "drop", "take"]), st.integers(0, 3 * RATE_HZ), st.integers(0, 2000)),
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
    left = timeline.take(now + MAX_AHEAD + 10_000)
    assert len(left) == now + MAX_AHEAD + 10_000 - taken
    assert not left[-7000:].any(), "nobody is further ahead"
