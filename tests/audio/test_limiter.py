import numpy as np
import pytest

from voiceagent.audio.limiter import CEILING_DBFS, FULL_SCALE, KNEE_DBFS, limited
from voiceagent.media.phone_codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephony.messages import AudioFormat, Encoding

CEILING = FULL_SCALE * 10 ** (CEILING_DBFS / 20)
KNEE = FULL_SCALE * 10 ** (KNEE_DBFS / 20)
ALL = np.arange(-32768, 32768).astype(np.int16)


def sine(peak: float, rate_hz: int = 8_000, hz: float = 1_000.0) -> np.ndarray:
    return np.round(peak * np.sin(2 * np.pi * hz * np.arange(rate_hz) / rate_hz + 0.1)).astype(np.int16)


def test_no_sample_comes_above_the_ceiling_and_what_is_below_the_knee_stays() -> None:
    out = limited(ALL)
    assert np.abs(out.astype(int)).max() <= CEILING
    quiet = np.abs(ALL.astype(int)) <= KNEE
    assert np.array_equal(out[quiet], ALL[quiet])


def test_louder_stays_louder_and_both_signs_are_bent_alike() -> None:
    out = limited(ALL).astype(int)
    assert np.all(np.diff(out) >= 0)
    assert np.diff(out).max() <= 1, "no jump, where the bend begins neither"
    assert np.array_equal(out[1:], -out[1:][::-1])


def test_quiet_audio_is_handed_back_itself() -> None:
    pcm = sine(KNEE - 1)
    assert limited(pcm) is pcm
    assert len(limited(pcm[:0])) == 0


@pytest.mark.parametrize(("peak_dbfs", "distortion_db"), [(-6.0, -80.0), (-4.0, -30.0), (0.0, -17.0)])
def test_a_tone_at_the_peak_is_distorted_less_than_by_clipping(peak_dbfs: float, distortion_db: float) -> None:
    out = limited(sine(32767 * 10 ** (peak_dbfs / 20))).astype(float)
    spectrum = np.abs(np.fft.rfft(out)) ** 2
    harmonics = spectrum.sum() - spectrum[1_000] - spectrum[0]
    assert 10 * np.log10(harmonics / spectrum[1_000] + 1e-12) < distortion_db


@pytest.mark.parametrize("encoding", list(Encoding))
def test_what_goes_to_a_telephone_is_limited(encoding: Encoding) -> None:
    wire = AudioFormat(encoding, 8_000)
    encoder, decoder = PhoneEncoder(wire, 24_000), PhoneDecoder(wire, 8_000)
    pcm = sine(32767, 24_000, 440.0)
    heard = np.concatenate([decoder.decode(encoder.encode(piece)) for piece in pcm.reshape(-1, 480)])
    step = 1.04 if encoding is not Encoding.L16 else 1.0
    assert 0.9 * CEILING < np.abs(heard.astype(int)).max() <= CEILING * step
