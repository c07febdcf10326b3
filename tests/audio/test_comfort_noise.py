import numpy as np
import pytest

from voiceagent.audio import g711
from voiceagent.audio.comfort_noise import ComfortNoise
from voiceagent.audio.levels import dbfs
from voiceagent.telephone.codec import PhoneEncoder
from voiceagent.telephone.messages import AudioFormat, Encoding


@pytest.mark.parametrize("encoding", [Encoding.MULAW, Encoding.ALAW])
@pytest.mark.parametrize("dbov", [-65.0, -55.0])
def test_comfort_noise_has_its_level_in_the_telephones_code_and_no_two_frames_are_alike(dbov: float, encoding: Encoding) -> None:
    noise, encoder = ComfortNoise(dbov, 24_000), PhoneEncoder(AudioFormat(encoding), 24_000)
    frames = [noise.take(480) for _ in range(100)]
    heard = g711.decode(b"".join(map(encoder.encode, frames)), alaw=encoding is Encoding.ALAW)
    assert dbfs(heard) == pytest.approx(dbov, abs=2)
    assert len({frame.tobytes() for frame in frames}) > 90
    assert all(len(np.unique(heard[start : start + 160])) > 1 for start in range(0, len(heard), 160))
