"""The way of the agent's voice through a telephone or a speakerphone and back: the line's codec both ways, a delay, a small room,
a loss, and a clock that runs apart from ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.resample import ShortResampler
from voiceagent.telephone.codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephone.messages import AudioFormat

Pcm = NDArray[np.int16]
Band = Literal["telephone", "wide"]
SENT_HZ, HEARD_HZ = 24_000, 16_000
FRAME_SAMPLES = HEARD_HZ // 50
ROOM_S = 0.1
HISTORY_S = 2.0
HISS_DB = -65.0


@dataclass(frozen=True, slots=True)
class Echo:
    """The way back of the agent's voice."""

    delay_ms: float
    loss_db: float
    """Below what the agent sends; infinite: nothing comes back."""
    band: Band
    seed: int = 0
    drift: float = 0.0
    """Share by which the caller's clock runs slow: 0.005 is 5 ms a second."""
    jitter_ms: float = 0.0
    """Mean lateness of the caller's frames, which is distributed exponentially."""


class Line:
    """One call's line: `say` takes what the agent sends, a frame each; `hear` gives what comes back with the caller's voice."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        rng = np.random.default_rng(echo.seed)
        self._rng = rng
        taps = int(ROOM_S * HEARD_HZ)
        room = rng.standard_normal(taps) * np.exp(-np.arange(taps) / (taps / 6))
        room[0] = 3.0
        self._room = room / np.sqrt(np.square(room).sum()) * 10 ** (-echo.loss_db / 20)
        self._played = np.zeros(int(HISTORY_S * HEARD_HZ))
        self._late = echo.delay_ms * HEARD_HZ / 1000
        self._out = _Codec(echo.band, SENT_HZ)
        self._in = _Codec(echo.band, HEARD_HZ)

    def say(self, pcm: Pcm) -> None:
        """20 ms that the agent sends, mono 24 kHz."""
        self._played = np.concatenate([self._played[FRAME_SAMPLES:], self._out.through(pcm)])

    def hear(self, caller: Pcm) -> Pcm:
        """The next 20 ms as the server gets them, mono 16 kHz, before `say` is called for the same 20 ms."""
        self._late += self._echo.drift * FRAME_SAMPLES
        whole, part = int(self._late), self._late % 1
        needed = FRAME_SAMPLES + len(self._room)
        end = len(self._played) - whole + FRAME_SAMPLES
        past = self._played[end - needed - 1 : end]
        if len(past) < needed + 1:
            past = np.pad(past, (0, needed + 1 - len(past)))
        past = past[1:] * (1 - part) + past[:-1] * part
        echo = np.convolve(past, self._room, "valid")[-FRAME_SAMPLES:]
        hiss = self._rng.standard_normal(FRAME_SAMPLES) * 32768 * 10 ** (HISS_DB / 20)
        return self._in.through(np.clip(caller + echo + hiss, -32768, 32767).astype(np.int16))


class _Codec:
    """20 ms in at its rate, as they arrive at 16 kHz."""

    def __init__(self, band: Band, rate_hz: int) -> None:
        self._phone = (
            (PhoneEncoder(AudioFormat(), rate_hz), PhoneDecoder(AudioFormat(), HEARD_HZ)) if band == "telephone" else None
        )
        self._resampler = ShortResampler(rate_hz, SENT_HZ)
        self._opus = opus.Encoder(SENT_HZ), opus.Decoder(HEARD_HZ)

    def through(self, pcm: Pcm) -> Pcm:
        if self._phone is not None:
            return self._phone[1].decode(self._phone[0].encode(pcm))
        encoder, decoder = self._opus
        return decoder.decode(encoder.encode(self._resampler.process(pcm)))
