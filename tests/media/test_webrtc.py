"""Real aiortc on both ends, in one process."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

from tests.media.conftest import MediaServer, echo
from voiceagent.audio.levels import dbfs
from voiceagent.media.caller import Caller


def tone(seconds: float, hz: float = 440.0, rate_hz: int = 24_000, amplitude: float = 8000.0) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def peak_hz(pcm: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    return float(np.argmax(spectrum) * rate_hz / len(pcm))


async def test_a_tone_goes_to_the_server_and_comes_back(media_server: MediaServer) -> None:
    media_server.behaviour = echo
    async with asyncio.timeout(20), Caller(media_server.url) as caller:
        heard: list[np.ndarray] = []
        caller.on_frame = lambda frame: heard.append(frame.pcm)
        said_ms = time.monotonic() * 1000.0
        caller.say(tone(1.0))
        onset_ms = await caller.wait_heard(said_ms)
        await caller.wait_quiet(400)
        assert onset_ms - caller.said.spans[0].onset_ms < 300
        audio = np.concatenate(heard)
        start = int(np.flatnonzero(np.abs(audio.astype(np.int32)) > 1000)[0])
        middle = audio[start + 4800 : start + 14400]
        assert abs(peak_hz(middle, 24_000) - 440.0) < 5
        assert dbfs(middle) == pytest.approx(dbfs(tone(0.4)), abs=2.0)
