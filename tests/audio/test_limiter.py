"""A voice's level, and its peaks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speech import said, tone
from voiceagent.audio.format import PLAYED_FRAME_SAMPLES
from voiceagent.audio.levels import CEILING, Limiter, dbfs
from voiceagent.audio.resample import resample
from voiceagent.media.playout import Playout

RATE_HZ = 24_000


def limited(pcm: np.ndarray, gain_db: float) -> np.ndarray:
    limiter = Limiter(gain_db)
    whole = pcm[: len(pcm) // PLAYED_FRAME_SAMPLES * PLAYED_FRAME_SAMPLES].reshape(-1, PLAYED_FRAME_SAMPLES)
    return np.concatenate([limiter.process(frame) for frame in whole])


@pytest.mark.parametrize("gain_db", [-12.0, -7.0, 3.0])
def test_a_voice_that_stays_below_the_ceiling_is_only_louder_or_softer(gain_db: float) -> None:
    voice = resample((said("Your table is booked for Friday.") * 0.3).astype(np.int16), 16_000, RATE_HZ)
    out = limited(voice, gain_db)
    assert dbfs(out) - dbfs(voice[: len(out)]) == pytest.approx(gain_db, abs=0.01)
    assert np.abs(out - voice[: len(out)] * 10 ** (gain_db / 20)).max() <= 0.51


def test_peaks_stay_below_full_scale_and_the_rest_keeps_its_shape() -> None:
    voice = resample(said("Your table is booked for Friday at seven."), 16_000, RATE_HZ)
    out = limited(voice, 9.0).astype(float)
    assert np.abs(out).max() <= CEILING + 0.5
    assert dbfs(out.astype(np.int16)) > dbfs(voice) + 4
    clipped = (voice[: len(out)] * 10 ** (9 / 20)).clip(-32768, 32767)
    wanted = voice[: len(out)].astype(float)

    def unlike(heard: np.ndarray) -> float:
        """What is in it besides the voice, at its best level, over 5 ms at a time."""
        rest = 0.0
        whole = len(out) // 120 * 120
        for one, right in zip(heard[:whole].reshape(-1, 120), wanted[:whole].reshape(-1, 120), strict=True):
            scale = one @ right / max(1.0, right @ right)
            rest += float(((one - scale * right) ** 2).sum())
        return rest / float((heard**2).sum())

    assert unlike(out) < unlike(clipped) / 3


def test_after_a_peak_the_level_comes_back() -> None:
    quiet, loud = tone(500, 440, 0.1), tone(100, 440, 0.9)
    out = limited(np.concatenate([loud, quiet]), 6.0)
    assert dbfs(out[-PLAYED_FRAME_SAMPLES:]) == pytest.approx(dbfs(quiet[-PLAYED_FRAME_SAMPLES:]) + 6, abs=0.1)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1 << 30), gain_db=st.floats(-30, 20))
def test_nothing_ever_comes_out_above_the_ceiling(seed: int, gain_db: float) -> None:
    rng = np.random.default_rng(seed)
    loudness = rng.choice([0, 10, 1000, 32767], size=8).repeat(PLAYED_FRAME_SAMPLES)
    pcm = (rng.uniform(-1, 1, len(loudness)) * loudness).astype(np.int16)
    pcm[rng.integers(0, len(pcm), 20)] = -32768
    assert np.abs(limited(pcm, gain_db).astype(int)).max() <= CEILING + 0.5


def test_a_playout_gives_its_frames_through_it() -> None:
    playout = Playout()
    playout.limiter = Limiter(-6.0206)
    playout.push(1, 0, np.full(PLAYED_FRAME_SAMPLES, 8000, np.int16), complete=True)
    frame = playout.take_frame()
    assert frame is not None
    assert frame.tolist() == [4000] * PLAYED_FRAME_SAMPLES
    assert playout.take_frame() is None
