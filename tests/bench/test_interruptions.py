import numpy as np
import pytest

from bench.interruptions import ToneFrame, frames_of, silence_after, tone_of
from bench.marked_server import RATE_HZ, TONES_HZ


@pytest.mark.parametrize("index", range(len(TONES_HZ)))
def test_a_frame_tells_which_reply_it_is_of(index: int) -> None:
    time_s = np.arange(480) / RATE_HZ
    tone = np.sin(2 * np.pi * TONES_HZ[index] * time_s + index)
    noise = np.random.default_rng(index).normal(0, 0.05, 480)
    assert tone_of(((tone + noise) * 8000).astype(np.int16)) == index


def test_noise_is_of_no_reply() -> None:
    assert tone_of(np.random.default_rng(0).normal(0, 3000, 480).astype(np.int16)) == -1


def test_silence_begins_at_the_end_of_the_last_frame_before_a_gap() -> None:
    frames = [ToneFrame(at_ms, at_ms + 20.0, 1, False) for at_ms in (960.0, 980.0, 1000.0, 1020.0, 1060.0, 1080.0, 1400.0)]
    assert silence_after(frames, 990.0) == 1100.0
    assert silence_after(frames[:2], 1200.0) == 1200.0


def test_a_frame_of_no_tone_is_of_the_reply_before_it_or_the_one_that_it_leads_to() -> None:
    tones = {0.0: 3, 20.0: -1, 300.0: -1, 900.0: -1, 920.0: -1, 980.0: 4, 1000.0: -1, 1020.0: 4, 1040.0: -1, 1400.0: -1}
    frames = [ToneFrame(at_ms, at_ms + 20.0, tone, False) for at_ms, tone in tones.items()]
    assert [frame.at_ms for frame in frames_of(frames, 3)] == [0.0, 20.0, 300.0]
    assert [frame.at_ms for frame in frames_of(frames[:3], 3)] == [0.0, 20.0, 300.0]


def test_a_frame_that_was_made_up_is_not_received_but_no_gap_either() -> None:
    received = [(0.0, 3, True), (500.0, -1, False), (602.0, -1, True), (602.0, -1, True), (620.0, 4, False)]
    frames = [ToneFrame(at_ms, at_ms + 20.0, tone, concealed) for at_ms, tone, concealed in received]
    assert frames_of(frames, 3) == []


def test_a_frame_made_up_of_the_reply_before_says_nothing_of_whose_the_next_one_is() -> None:
    received = [(0.0, 3, False), (500.0, 3, True), (500.0, -1, False), (520.0, 4, False)]
    frames = [ToneFrame(at_ms, at_ms + 20.0, tone, concealed) for at_ms, tone, concealed in received]
    assert [frame.at_ms for frame in frames_of(frames, 3)] == [0.0]


def test_a_frame_made_up_of_another_tone_says_that_the_next_reply_has_begun() -> None:
    began = [(0.0, 3, False), (500.0, 4, True), (516.0, -1, False), (900.0, -1, False), (953.0, 5, True)]
    frames = [ToneFrame(at_ms, at_ms + 20.0, tone, concealed) for at_ms, tone, concealed in began]
    assert [frame.at_ms for frame in frames_of(frames, 3)] == [0.0]


def test_a_frame_without_the_tone_belongs_to_the_next_reply_once_it_is_announced() -> None:
    received = {0.0: 3, 500.0: -1, 1700.0: -1, 1720.0: -1, 2500.0: 3}
    frames = [ToneFrame(at_ms, at_ms + 20.0, tone, False) for at_ms, tone in received.items()]
    assert [frame.at_ms for frame in frames_of(frames, 3, 1650.0)] == [0.0, 500.0, 2500.0]
