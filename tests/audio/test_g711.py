"""The telephone's two codes, against Python's own where it still has them, and against the recommendation's values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from voiceagent.audio import g711

ALL = np.arange(-32_768, 32_768, dtype=np.int16)


@pytest.mark.parametrize("alaw", [False, True])
def test_every_sample_and_every_code_is_as_python_has_it(alaw: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audioop = pytest.importorskip("audioop", reason="gone from Python 3.13 on")
    encode, decode = (audioop.lin2alaw, audioop.alaw2lin) if alaw else (audioop.lin2ulaw, audioop.ulaw2lin)
    assert g711.encode(ALL, alaw=alaw) == encode(ALL.tobytes(), 2)
    codes = bytes(range(256))
    assert g711.decode(codes, alaw=alaw).tobytes() == decode(codes, 2)


def test_silence_and_full_scale_are_the_recommendations_codes() -> None:
    extremes = np.array([0, 32_767, -32_768], np.int16)
    assert g711.encode(extremes) == bytes([0xFF, 0x80, 0x00])
    assert g711.encode(extremes, alaw=True) == bytes([0xD5, 0xAA, 0x2A])
    assert g711.decode(bytes([0xFF, 0x80, 0x00])).tolist() == [0, 32_124, -32_124]


@pytest.mark.parametrize("alaw", [False, True])
def test_a_code_that_is_decoded_and_encoded_again_sounds_the_same(alaw: bool) -> None:
    codes = bytes(range(256))
    sounds = g711.decode(codes, alaw=alaw)
    assert g711.decode(g711.encode(sounds, alaw=alaw), alaw=alaw).tolist() == sounds.tolist()
