from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.audio.resample import ShortResampler
from voiceagent.errors import MediaError

RATES = [(8_000, 16_000), (24_000, 8_000), (24_000, 16_000), (16_000, 16_000), (24_000, 24_000), (24_000, 48_000)]


def tone(hz: float, rate_hz: int, seconds: float = 0.5) -> np.ndarray:
    return np.round(10_000 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def level_db(pcm: np.ndarray, hz: float, rate_hz: int) -> float:
    """Of one frequency, relative to the tone's 10,000."""
    middle = pcm[len(pcm) // 5 : -len(pcm) // 5].astype(float) * np.hanning(len(pcm[len(pcm) // 5 : -len(pcm) // 5]))
    turns = np.exp(-2j * np.pi * hz * np.arange(len(middle)) / rate_hz)
    return 20 * float(np.log10(abs(middle @ turns) * 4 / len(middle) / 10_000 + 1e-9))


@pytest.mark.parametrize(("from_hz", "to_hz"), RATES)
def test_twenty_milliseconds_in_are_twenty_milliseconds_out(from_hz: int, to_hz: int) -> None:
    resampler = ShortResampler(from_hz, to_hz)
    assert {len(resampler.process(np.zeros(from_hz // 50, np.int16))) for _ in range(50)} == {to_hz // 50}


@given(st.lists(st.integers(0, 700), min_size=1, max_size=12), st.sampled_from(RATES))
@settings(max_examples=60, deadline=None)
def test_pieces_of_any_size_give_what_the_whole_would(sizes: list[int], rates: tuple[int, int]) -> None:
    pcm = np.random.default_rng(1).integers(-20_000, 20_000, sum(sizes)).astype(np.int16)
    pieces, whole = ShortResampler(*rates), ShortResampler(*rates)
    out = [pieces.process(piece) for piece in np.split(pcm, np.cumsum(sizes)[:-1])]
    assert np.abs(np.concatenate(out).astype(int) - whole.process(pcm)).max(initial=0) <= 1


def test_the_band_of_speech_passes_and_what_would_fold_back_does_not() -> None:
    down = {hz: level_db(ShortResampler(24_000, 8_000).process(tone(hz, 24_000)), hz, 8_000) for hz in (300, 1000, 3400)}
    assert all(abs(level) < 1.0 for level in down.values()), down
    folded = ShortResampler(24_000, 8_000).process(tone(5_000, 24_000))
    assert level_db(folded, 3_000, 8_000) < -50
    up = ShortResampler(8_000, 16_000).process(tone(1_000, 8_000))
    assert abs(level_db(up, 1_000, 16_000)) < 0.5
    assert level_db(up, 7_000, 16_000) < -50, "the image"


def test_it_delays_by_two_milliseconds() -> None:
    click = np.zeros(160, np.int16)
    click[0] = 20_000
    assert int(np.abs(ShortResampler(8_000, 16_000).process(click)).argmax()) == 32 == ShortResampler(8_000, 16_000).delay_ms * 16


def test_loud_audio_is_cut_off_and_does_not_wrap() -> None:
    square = np.where(np.arange(2400) // 40 % 2, -32_768, 32_767).astype(np.int16)
    out = ShortResampler(24_000, 8_000).process(square).astype(int)
    assert np.abs(np.diff(out)).max() <= 65_535
    assert out.max() == 32_767


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(MediaError, match="cannot resample from 0 Hz"):
        ShortResampler(0, 8_000)
