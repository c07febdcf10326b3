"""Speech as a telephone carries it, for training, benchmarks and tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

from voiceagent.audio.format import PHONE_HZ

_PASS_HZ = (300.0, 3400.0)
_EDGE_HZ = 150.0
_MU = 255.0


def _band_limited(audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    spectrum = np.fft.rfft(audio)
    hz = np.fft.rfftfreq(len(audio), 1 / PHONE_HZ)
    low, high = _PASS_HZ
    gain = np.interp(hz, [low - _EDGE_HZ, low, high, high + _EDGE_HZ], [0.003, 1.0, 1.0, 0.003])
    return np.asarray(np.fft.irfft(spectrum * gain, len(audio)), dtype=np.float32)


def _mu_law(audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    loud = np.clip(audio, -1, 1)
    code = np.round((np.sign(loud) * np.log1p(_MU * np.abs(loud)) / np.log1p(_MU) + 1) * 127.5)
    companded = code / 127.5 - 1
    return np.asarray(np.sign(companded) * np.expm1(np.abs(companded) * np.log1p(_MU)) / _MU, dtype=np.float32)


def telephone_band(audio: npt.NDArray[np.float32], rate_hz: int = 16000) -> npt.NDArray[np.float32]:
    """Mono audio in -1..1 as it arrives over a telephone line (300 to 3400 Hz, 8000 samples a second, µ-law, ITU-T G.711), at the
    rate and (within a sample or two) length it had."""
    if len(audio) == 0:
        return audio
    narrow = np.asarray(soxr.resample(audio, rate_hz, PHONE_HZ), dtype=np.float32)
    heard = np.asarray(soxr.resample(_mu_law(_band_limited(narrow)), PHONE_HZ, rate_hz), dtype=np.float32)
    return heard[: len(audio)]


def telephone_speech(pcm: npt.NDArray[np.int16], rate_hz: int) -> npt.NDArray[np.int16]:
    """Mono audio as a telephone sends it, at 8 kHz and in its band, before G.711."""
    narrow = np.asarray(soxr.resample(pcm.astype(np.float32), rate_hz, PHONE_HZ), dtype=np.float32)
    return np.clip(np.rint(_band_limited(narrow)), -32768, 32767).astype(np.int16) if len(narrow) else narrow.astype(np.int16)
