"""Sounds that Whisper makes words of, each stopped by its gate: the audio is real, so are the recogniser and its limits. (That
speech passes all gates stands in test_whisper.)"""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest
from numpy.typing import NDArray

from models.train.espeak import Espeak
from tests.speech import RATE_HZ, frames, said, silence
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.engine import StreamOptions
from voiceagent.stt.gates import GateLimits
from voiceagent.stt.stream import FinalText, UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.vad.detector import SpeechDetector

UNLIMITED = GateLimits(
    no_speech_probability=1.0,
    doubtful_log_probability=-100.0,
    log_probability=-100.0,
    compression_ratio=100.0,
    repeats=100,
    words_per_second=1000.0,
)


@pytest.fixture
async def engine() -> AsyncIterator[WhisperEngine]:
    spec = profile("embedded").stt
    engine = create(resolve(spec.model), spec.options)
    yield engine
    await engine.close()


def throbbing(duration_ms: float, frequency_hz: float, level: float, depth: float, seed: int) -> NDArray[np.int16]:
    """Noise that swells as often a second as speech has syllables."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(int(duration_ms * RATE_HZ / 1000)) / RATE_HZ
    audio = rng.normal(0, level, len(time_s)) * (1 - depth + depth * np.sin(np.pi * frequency_hz * time_s) ** 2)
    return (np.clip(audio, -1, 1) * 32767).astype(np.int16)


def spoken(words_per_minute: int) -> NDArray[np.int16]:
    audio = Espeak().say("can I have a table for two people on friday", words_per_minute=words_per_minute).resampled(RATE_HZ)
    return (audio * 32767).astype(np.int16)


async def final_of(engine: WhisperEngine, audio: NDArray[np.int16], options: StreamOptions | None = None) -> FinalText:
    transcriber = UtteranceTranscriber(engine, options)
    transcriber.begin(1, audio)
    final = await transcriber.final()
    await transcriber.close()
    assert final is not None
    return final


@pytest.mark.parametrize(
    ("audio", "gate"),
    [
        pytest.param(throbbing(1500, 9.0, 0.2, 1.0, seed=27), "no_speech", id="noise that swells fast"),
        pytest.param(throbbing(1500, 4.0, 0.03, 1.0, seed=0), "log_probability", id="soft noise that swells"),
        pytest.param(said("hello there " * 6), "compression_ratio", id="two words six times"),
        pytest.param(said("please " * 6), "repetition", id="a word six times"),
    ],
)
async def test_a_sound_that_whisper_makes_words_of_is_stopped_by_its_gate(
    engine: WhisperEngine, audio: NDArray[np.int16], gate: str
) -> None:
    believed = await final_of(engine, audio, StreamOptions(limits=UNLIMITED))
    refused = await final_of(engine, audio)
    assert believed.text != ""
    assert (refused.text, refused.rejected) == ("", gate)


async def test_words_that_come_faster_than_the_limit_are_stopped(engine: WhisperEngine) -> None:
    limits = GateLimits(words_per_second=4)
    slow, fast = [await final_of(engine, spoken(pace), StreamOptions(limits=limits)) for pace in (150, 450)]
    assert (slow.text != "", slow.rejected) == (True, "")
    assert (fast.text, fast.rejected) == ("", "too_many_words")


async def test_what_a_gate_refuses_is_no_partial_either(engine: WhisperEngine) -> None:
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, throbbing(1500, 9.0, 0.2, 1.0, seed=27))
    partial = await transcriber.partial()
    assert partial is not None
    assert (partial.stable, partial.unstable) == ("", "")
    await transcriber.close()


async def test_noise_that_passes_every_gate_behind_is_stopped_by_the_vad_before_them(engine: WhisperEngine) -> None:
    audio = throbbing(3000, 4.0, 0.03, 1.0, seed=0)
    assert (await final_of(engine, audio)).text != ""
    detector = SpeechDetector()
    assert all(
        detector.feed(frame, index * 20.0) is None for index, frame in enumerate(frames(silence(1000), audio, silence(500)))
    )
