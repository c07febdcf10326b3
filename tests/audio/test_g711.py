"""The telephone's two codes, against Python's own where it still has them, and against the recommendation's values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from voiceagent.audio import g711
from voiceagent.audio.g711 import ComfortNoise
from voiceagent.audio.levels import dbfs
from voiceagent.telephone.codec import PhoneEncoder
from voiceagent.telephone.messages import AudioFormat, Encoding

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


@pytest.mark.parametrize("encoding", [Encoding.MULAW, Encoding.ALAW])
@pytest.mark.parametrize("dbov", [-65.0, -55.0])
def test_comfort_noise_has_its_level_in_the_telephones_code_and_no_two_frames_are_alike(dbov: float, encoding: Encoding) -> None:
    noise, encoder = ComfortNoise(dbov, 24_000), PhoneEncoder(AudioFormat(encoding), 24_000)
    frames = [noise.take(480) for _ in range(100)]
    heard = g711.decode(b"".join(map(encoder.encode, frames)), alaw=encoding is Encoding.ALAW)
    assert dbfs(heard) == pytest.approx(dbov, abs=2)
    assert len({frame.tobytes() for frame in frames}) > 90
    assert all(len(np.unique(heard[start : start + 160])) > 1 for start in range(0, len(heard), 160))
