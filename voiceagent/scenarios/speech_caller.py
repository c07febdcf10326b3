"""A caller who speaks: one call over WebRTC, with a voice of this machine or a recording, over a line that may be bad."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PHONE_HZ
from voiceagent.audio.resample import resample
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import ConfigError
from voiceagent.scenarios.scenario import Line, RecordedSpeech
from voiceagent.tts.clips import read_wav
from voiceagent.tts.engine import TtsEngine

MAX_SPEECH_S = 60.0
RATE_HZ = 48_000
TELEPHONE_BAND_HZ = (300, 3400)
SEED = 1

Pcm = NDArray[np.int16]
Speak = Callable[[str], Awaitable[Pcm]]
"""Speaks words: mono int16 at `RATE_HZ`."""


def speaker(engine: TtsEngine) -> Speak:
    """Speaks with a voice; what it has said before is kept."""
    kept: dict[str, Pcm] = {}

    async def speak(text: str) -> Pcm:
        if text not in kept:
            parts = [chunk.pcm async for chunk in engine.synthesise(text)]
            kept[text] = resample(np.concatenate([*parts, np.zeros(0, np.int16)]), engine.sample_rate_hz, RATE_HZ)
        return kept[text]

    return speak


class SpeechCaller:
    """One call. `async with SpeechCaller(…) as caller:` connects, waits for the greeting, and hangs up."""

    def __init__(self, url: str, token: str, line: Line, folder: Path, speak: Speak, timeout_s: float) -> None:
        """Paths of recordings begin in `folder`."""
        impaired = Impairment(loss=line.loss, delay_ms=line.delay_ms, jitter_ms=line.jitter_ms)
        relay = ImpairedRelay(impaired) if line.loss or line.delay_ms or line.jitter_ms else None
        self._caller = Caller(url, token or None, relay=relay)
        self._dialogue = Dialogue(self._caller, timeout_s=timeout_s)
        self._line, self._folder, self._speak = line, folder, speak
        self._noise = read_wav(folder / line.noise, RATE_HZ, MAX_SPEECH_S) if line.noise else None

    async def __aenter__(self) -> SpeechCaller:
        try:
            await self._caller.connect()
            await self._dialogue.__aenter__()
            if await self._dialogue.greets():
                await self._dialogue.wait_greeting()
        except BaseException:
            await self.hang_up()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.hang_up()

    async def hang_up(self) -> None:
        """End the call. May be called twice."""
        await self._dialogue.__aexit__()
        await self._caller.hangup()

    @property
    def call_id(self) -> str:
        """The server's id of the call."""
        return self._caller.call_id

    @property
    def is_over(self) -> bool:
        """True once the call has ended."""
        return bool(self._caller.end_reason)

    @property
    def turns(self) -> list[dict[str, object]]:
        """`voiceagent.turn` events so far."""
        return [turn.measured for turn in self._dialogue.turns if turn.measured is not None]

    async def say(
        self, words: str | RecordedSpeech, over: str | RecordedSpeech | None = None, after_s: float = 0.0
    ) -> list[Exchange]:
        """Say it, and wait for the end of the answer. `over` is said over that answer, so long after its beginning. Raises
        MediaError, ConfigError."""
        interrupts = None if over is None else (_text(over), await self._sound(over))
        return await self._dialogue.turn(
            _text(words), await self._sound(words), RATE_HZ, interrupt_with=interrupts, interrupt_after_s=after_s
        )

    async def _sound(self, words: str | RecordedSpeech) -> Pcm:
        if isinstance(words, RecordedSpeech):
            clean = read_wav(self._folder / words.audio, RATE_HZ, MAX_SPEECH_S)
        else:
            clean = await self._speak(words)
        if not clean.any():
            raise ConfigError(f"the voice says nothing of {words!r}; give it words")
        return on_the_line(clean, self._line, self._noise)


def _text(words: str | RecordedSpeech) -> str:
    return words if isinstance(words, str) else words.text or words.audio


def on_the_line(clean: Pcm, line: Line, noise: Pcm | None = None) -> Pcm:
    """Speech with the line's noise and band; mono int16 at `RATE_HZ`, as long as it was."""
    heard = clean.astype(np.float64)
    if line.noise_db is not None:
        loud = heard[np.abs(heard) > np.abs(heard).max() / 30]
        drawn = (
            np.random.default_rng(SEED).normal(0, 1, len(heard))
            if noise is None
            else np.resize(noise, len(heard)).astype(np.float64)
        )
        level = np.sqrt(np.square(loud).mean()) * 10 ** (-line.noise_db / 20)
        heard += drawn * level / max(1e-9, float(np.sqrt(np.square(drawn).mean())))
    if line.telephone:
        heard = _telephone(heard)
    return np.clip(np.rint(heard), -32_768, 32_767).astype(np.int16)


def _telephone(sound: NDArray[np.float64]) -> NDArray[np.float64]:
    spectrum = np.fft.rfft(sound)
    hz = np.fft.rfftfreq(len(sound), 1 / RATE_HZ)
    spectrum[(hz < TELEPHONE_BAND_HZ[0]) | (hz > TELEPHONE_BAND_HZ[1])] = 0
    band = np.clip(np.rint(np.fft.irfft(spectrum, len(sound))), -32_768, 32_767).astype(np.int16)
    found: NDArray[np.float64] = np.resize(resample(resample(band, RATE_HZ, PHONE_HZ), PHONE_HZ, RATE_HZ), len(sound)).astype(
        np.float64
    )
    return found
