"""Audio in events: base64 of PCM at 24 kHz or of G.711 at 8 kHz, as a client sends and takes it."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import g711
from voiceagent.audio.format import HEARD_FRAME_SAMPLES, HEARD_HZ, PHONE_HZ, PLAYED_HZ
from voiceagent.audio.resample import ShortResampler

Encoding = Literal["pcm", "pcmu", "pcma"]


def rate_of(encoding: Encoding) -> int:
    """Its samples a second."""
    return PLAYED_HZ if encoding == "pcm" else PHONE_HZ


class EventDecoder:
    """Makes frames of 20 ms at 16 kHz of what a client appends. Pieces may have any length."""

    def __init__(self, encoding: Encoding = "pcm") -> None:
        self._encoding = encoding
        self._resampler = ShortResampler(rate_of(encoding), HEARD_HZ)
        self._rest = np.zeros(0, np.int16)

    def decode(self, text: str) -> list[NDArray[np.int16]] | None:
        """The frames that are complete with this piece, shape (320,) each. None if it is no base64 of whole samples."""
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
        if not raw or (self._encoding == "pcm" and len(raw) % 2):
            return None
        if self._encoding == "pcm":
            pcm = np.frombuffer(raw, "<i2").astype(np.int16)
        else:
            pcm = g711.decode(raw, alaw=self._encoding == "pcma")
        joined = np.concatenate((self._rest, self._resampler.process(pcm)))
        whole = len(joined) // HEARD_FRAME_SAMPLES * HEARD_FRAME_SAMPLES
        self._rest = joined[whole:]
        return [joined[start : start + HEARD_FRAME_SAMPLES] for start in range(0, whole, HEARD_FRAME_SAMPLES)]


class EventEncoder:
    """Makes base64 of the agent's frames of 20 ms at 24 kHz."""

    def __init__(self, encoding: Encoding = "pcm") -> None:
        self._encoding = encoding
        self._resampler = ShortResampler(PLAYED_HZ, rate_of(encoding))

    def encode(self, pcm: NDArray[np.int16]) -> str:
        """The text of one or several frames, shape (samples,)."""
        out = self._resampler.process(pcm)
        raw = out.astype("<i2").tobytes() if self._encoding == "pcm" else g711.encode(out, alaw=self._encoding == "pcma")
        return base64.b64encode(raw).decode("ascii")
