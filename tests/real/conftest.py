"""Whole calls on published models: a Whisper and a Piper voice from the models cache, which lies outside the checkout. The caller
is the published voice, too, or espeak-ng. `VOICEAGENT_TEST_PROFILE` names another profile of published models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import speech
from tests.real.models import fetched
from tests.server_process import PROFILE as CHOSEN
from tests.server_process import ServerProcess, running_server
from voiceagent.engines import load_tts
from voiceagent.models.registry import profile
from voiceagent.tts.engine import TtsEngine

PROFILE = CHOSEN or "real-speech"
Said = Callable[[str], Awaitable[tuple[NDArray[np.int16], int]]]


@pytest.fixture(scope="session", autouse=True)
def models() -> None:
    """The profile's models."""
    fetched("--profile", PROFILE)


@pytest.fixture(scope="session")
def server(models: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("server"), "--profile", PROFILE, "--event-logs", "50") as running:
        yield running


@pytest.fixture(scope="session")
def voice(models: None) -> Iterator[TtsEngine]:
    """The profile's voice, for the caller: without the noise that makes it say every sentence anew."""
    engine = load_tts(profile(PROFILE).tts.with_options({"noise_scale": 0.0, "noise_w_scale": 0.0}))
    yield engine
    asyncio.run(engine.close())


@pytest.fixture
def said(voice: TtsEngine) -> Said:
    """Text as the published voice says it: mono int16 and its rate."""

    async def speak(text: str) -> tuple[NDArray[np.int16], int]:
        return np.concatenate([chunk.pcm async for chunk in voice.synthesise(text)]), voice.sample_rate_hz

    return speak


@pytest.fixture
def said_otherwise() -> Said:
    """Text as espeak-ng says it."""

    async def speak(text: str) -> tuple[NDArray[np.int16], int]:
        return speech.said(text), speech.RATE_HZ

    return speak
