from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.audio.levels import SILENCE_DBFS, VoicedTimeline, dbfs, first_audible_sample, rms
from voiceagent.audio.resample import StreamResampler, resample
from voiceagent.errors import MediaError


def tone(seconds: float, rate_hz: int) -> np.ndarray:
    return (16_384 * np.sin(2 * np.pi * 500 * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def test_levels() -> None:
    assert rms(np.zeros(0, dtype=np.int16)) == 0
    assert dbfs(np.zeros(100, dtype=np.int16)) == SILENCE_DBFS
    assert dbfs(tone(1.0, 16_000)) == pytest.approx(-9.03, abs=0.05)


def test_voiced_spans_are_timed_to_five_milliseconds_and_joined() -> None:
    timeline = VoicedTimeline(24_000)
    silence = np.zeros(24_000 // 10, dtype=np.int16)
    audio = np.concatenate([silence, tone(0.2, 24_000), silence, tone(0.1, 24_000), *[silence] * 5, tone(0.1, 24_000)])
    for start in range(0, len(audio), 480):
        timeline.feed(audio[start : start + 480], 1000.0 + start / 24)
    assert [(span.onset_ms, span.offset_ms) for span in timeline.spans] == [(1100, 1500), (2000, 2100)]
    assert timeline.last_voiced_ms == 2100
    assert timeline.first_onset_after(1200) == 2000
    assert timeline.first_onset_after(2001) is None


def test_audio_becomes_audible_in_the_first_loud_five_milliseconds() -> None:
    silence = np.zeros(1000, dtype=np.int16)
    assert first_audible_sample(np.concatenate([silence, tone(0.1, 16_000)]), 16_000) == 960
    assert first_audible_sample(tone(0.1, 16_000), 16_000) == 0
    for quiet in (silence, silence + 30, silence[:0], tone(0.1, 16_000)[:79]):
        assert first_audible_sample(quiet, 16_000) == len(quiet)


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 7999), max_size=20),
    rates=st.sampled_from([(22_050, 24_000), (16_000, 24_000), (48_000, 16_000)]),
)
def test_pieces_of_any_size_give_what_the_whole_gives(cuts: list[int], rates: tuple[int, int]) -> None:
    pcm = tone(1.0, rates[0])[:8000]
    whole = resample(pcm, *rates)
    assert len(whole) == pytest.approx(8000 * rates[1] / rates[0], abs=2)
    stream = StreamResampler(*rates)
    pieces = [stream.process(part) for part in np.split(pcm, sorted(set(cuts)))]
    pieces.append(stream.process(np.zeros(0, dtype=np.int16), last=True))
    joined = np.concatenate(pieces)
    assert len(joined) == len(whole)
    assert np.max(np.abs(joined.astype(int) - whole)) <= 2


def test_equal_rates_pass_and_senseless_ones_are_refused() -> None:
    pcm = tone(0.1, 16_000)
    assert resample(pcm, 16_000, 16_000) is pcm
    with pytest.raises(MediaError, match="0 Hz"):
        StreamResampler(0, 16_000)
