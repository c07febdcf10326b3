"""Both sides of a call on one time line."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from voiceagent.client.recording import MAX_S, Lane, StereoRecording
from voiceagent.errors import MediaError

RATE_HZ = 8000


def tone(ms: float, level: int = 1000) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    return np.full(int(ms * RATE_HZ / 1000), level, np.int16)


def test_audio_stands_where_it_was_heard() -> None:
    lane = Lane(RATE_HZ)
    lane.add(tone(20), 500.0)
    lane.add(tone(20, 2000), 1000.0)
    heard = lane.pcm()
    assert len(heard) == 1020 * RATE_HZ // 1000
    assert list(np.flatnonzero(heard)[[0, -1]]) == [500 * RATE_HZ // 1000, len(heard) - 1]
    assert heard[600 * RATE_HZ // 1000] == 0
    assert heard[1010 * RATE_HZ // 1000] == 2000


def test_audio_that_jitters_follows_what_came_before() -> None:
    lane = Lane(RATE_HZ)
    for number in range(10):
        lane.add(tone(20), number * 20.0 + (50.0 if number % 2 else -15.0))
    assert np.all(lane.pcm() == 1000)
    assert len(lane.pcm()) == 200 * RATE_HZ // 1000


def test_a_recording_is_bounded() -> None:
    lane = Lane(RATE_HZ)
    lane.add(tone(20), 10 * MAX_S * 1000.0)
    assert len(lane.pcm()) == MAX_S * RATE_HZ
    lane.add(tone(20), 10 * MAX_S * 1000.0)
    assert len(lane.pcm()) == MAX_S * RATE_HZ


def test_the_caller_is_left_and_the_agent_right(tmp_path: Path) -> None:
    recording = StereoRecording(RATE_HZ)
    recording.caller.add(tone(20, 111), 0.0)
    recording.agent.add(tone(40, 222), 0.0)
    recording.write(tmp_path / "call.wav")
    with wave.open(str(tmp_path / "call.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, RATE_HZ, 40 * RATE_HZ // 1000)
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    assert both[0].tolist() == [111, 222]
    assert both[-1].tolist() == [0, 222]


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="cannot be written"):
        StereoRecording(RATE_HZ).write(tmp_path / "no" / "call.wav")
