"""Speech becomes slower or faster, and keeps its pitch."""

from __future__ import annotations

import numpy as np
import pytest

from voiceagent.audio.resample import TimeStretcher

RATE_HZ = 24_000
TONE = (8000 * np.sin(np.arange(2 * RATE_HZ) * 2 * np.pi * 200 / RATE_HZ)).astype(np.int16)


@pytest.mark.parametrize("speed", [0.25, 0.5, 0.8, 1.2, 1.5])
@pytest.mark.parametrize("piece", [480, 4_800, 48_000])
def test_the_length_changes_and_the_pitch_does_not(speed: float, piece: int) -> None:
    stretcher = TimeStretcher(RATE_HZ, speed)
    parts = [stretcher.process(TONE[start : start + piece]) for start in range(0, len(TONE), piece)]
    out = np.concatenate([*parts, stretcher.process(TONE[:0], last=True)])
    assert len(out) / RATE_HZ == pytest.approx(2.0 / speed, abs=0.05)
    middle = out[RATE_HZ // 4 : -RATE_HZ // 4].astype(np.float64)
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    assert np.argmax(spectrum) * RATE_HZ / len(middle) == pytest.approx(200.0, abs=3.0)
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(8000 / np.sqrt(2), rel=0.1)


def test_at_its_own_speed_speech_stays_as_it_is() -> None:
    assert TimeStretcher(RATE_HZ, 1.0).process(TONE) is TONE


def test_hardly_any_sound_comes_out_whole() -> None:
    stretcher = TimeStretcher(RATE_HZ, 1.25)
    out = np.concatenate([stretcher.process(TONE[:100]), stretcher.process(TONE[:0], last=True)])
    assert len(out) > 0
