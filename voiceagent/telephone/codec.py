"""Converts a telephone stream's audio to ours and back. Each direction has one resampler, so that pieces join without a seam."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import g711
from voiceagent.audio.jitter_buffer import CLOCK_HZ
from voiceagent.audio.resample import ShortResampler
from voiceagent.telephone.messages import AudioFormat, Encoding

LONGEST_MS = 1000
"""The most audio of one message."""


class PhoneDecoder:
    """Gives audio at `rate_hz`. Lost audio is replaced by the last piece, fading."""

    def __init__(self, wire: AudioFormat, rate_hz: int) -> None:
        self._wire = wire
        self._sample_bytes = 2 if wire.encoding is Encoding.L16 else 1
        self._resampler = ShortResampler(wire.rate_hz, rate_hz)
        self._last = np.zeros(0, np.int16)

    def packet_samples(self, payload: bytes) -> int:
        """The length of a message's audio, in samples of the 48 kHz clock; 0 for half a sample or more than a second."""
        samples, rest = divmod(len(payload), self._sample_bytes)
        if rest or samples > self._wire.rate_hz * LONGEST_MS // 1000:
            return 0
        return samples * CLOCK_HZ // self._wire.rate_hz

    def decode(self, payload: bytes) -> NDArray[np.int16]:
        """The audio of a payload."""
        if self._wire.encoding is Encoding.L16:
            pcm = np.frombuffer(payload, "<i2").astype(np.int16)
        else:
            pcm = g711.decode(payload, alaw=self._wire.encoding is Encoding.ALAW)
        self._last = self._resampler.process(pcm)
        return self._last

    def conceal(self, samples: int) -> NDArray[np.int16]:
        """The last piece again, fading to nothing."""
        if not len(self._last):
            return np.zeros(samples, np.int16)
        again = np.resize(self._last, samples) * np.linspace(0.7, 0.0, samples)
        self._last = np.zeros(0, np.int16)
        return again.astype(np.int16)

    def recover(self, next_payload: bytes, samples: int) -> NDArray[np.int16]:
        """A message holds no copy of the message before it."""
        return self.conceal(samples)


class PhoneEncoder:
    """Takes audio at `rate_hz` in pieces of 20 ms. Each comes out whole."""

    def __init__(self, wire: AudioFormat, rate_hz: int) -> None:
        self._wire = wire
        self._rate_hz = rate_hz
        self._resampler = ShortResampler(rate_hz, wire.rate_hz)

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """A piece's payload."""
        out = self._resampler.process(pcm)
        if self._wire.encoding is Encoding.L16:
            return out.astype("<i2").tobytes()
        return g711.encode(out, alaw=self._wire.encoding is Encoding.ALAW)

    def restart(self) -> None:
        """The next piece does not continue the last one."""
        self._resampler = ShortResampler(self._rate_hz, self._wire.rate_hz)
