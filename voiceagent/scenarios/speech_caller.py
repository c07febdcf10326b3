"""A caller who speaks: one call over WebRTC, with a voice of this machine or a recording, over a line that may be bad."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PHONE_HZ
from voiceagent.audio.resample import resample
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Act, Dialogue, Exchange
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import ConfigError, MediaError
from voiceagent.scenarios.scenario import CallerStep, Line, RecordedSpeech
from voiceagent.telephone.keys import ANSWER, ClientEvent, PressedKeys
from voiceagent.tts.clips import read_wav
from voiceagent.tts.engine import TtsEngine
from voiceagent.untrusted_json import read_struct

MAX_SPEECH_S = 60.0
KEY_S = 0.15
"""From key to key, as people press them."""
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
        self._is_impaired = bool(line.loss or line.delay_ms or line.jitter_ms)
        relay = ImpairedRelay(impaired) if self._is_impaired else None
        self._caller = Caller(url, token or None, relay=relay)
        self._dialogue = Dialogue(self._caller, timeout_s=timeout_s)
        self._line, self._folder, self._speak = line, folder, speak
        self._keys = PressedKeys(self._keyed)
        self._number_sent = asyncio.Event()
        self._noise = read_wav(folder / line.noise, RATE_HZ, MAX_SPEECH_S) if line.noise else None

    async def __aenter__(self) -> SpeechCaller:
        try:
            await self._caller.connect()
            if self._is_impaired and self._caller.transport != "webrtc":
                raise MediaError("no call came up by UDP on this line, and the WebSocket has no such line; make it less bad")
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
        self._keys.close()
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

    async def do(self, step: CallerStep, over: CallerStep | None = None) -> list[Exchange]:
        """Do it, and wait for the end of the answer. `over` is done over that answer. Raises MediaError, ConfigError."""
        return await self._dialogue.turn(
            str(step),
            await self._act(step),
            RATE_HZ,
            interrupt_with=None if over is None else (str(over), await self._act(over)),
            interrupt_after_s=(over.over_reply_after_s or 0.0) if over else 0.0,
            may_go_unanswered=(over or step).asks_nothing,
        )

    async def _act(self, step: CallerStep) -> Act:
        words = step.spoken
        if step.press:
            return partial(self._press, step.press)
        if isinstance(words, RecordedSpeech):
            clean = read_wav(self._folder / words.audio, RATE_HZ, MAX_SPEECH_S)
        else:
            clean = await self._speak(words)
        if not clean.any():
            raise ConfigError(f"the voice says nothing of {words!r}; give it words")
        louder = np.clip(clean * 10 ** (step.level_db / 20), -32_768, 32_767).astype(np.int16)
        return on_the_line(louder, self._line, self._noise)

    async def _press(self, keys: str) -> None:
        """Press keys; returns when the number is complete. The events are those of a telephone's leg."""
        self._number_sent.clear()
        for number, key in enumerate(keys):
            await asyncio.sleep(KEY_S if number else 0.0)
            self._keys.press(key)
        await self._number_sent.wait()

    def _keyed(self, events: Sequence[ClientEvent]) -> None:
        for event in events:
            if isinstance(event, str):
                self._caller.send_event(read_struct(event, dict))
        if ANSWER in events:
            self._number_sent.set()


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
