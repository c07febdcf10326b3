"""The bundled Piper voice: words in order with times inside the audio, one chunk a sentence, and clear errors."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speech import edges
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.resources import bundled_models_dir
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.piper import MAX_WAITING, Loudness, PiperEngine, PiperOptions, create

VOICE = bundled_models_dir() / "voice"


@pytest.fixture
async def engine() -> AsyncIterator[PiperEngine]:
    engine = PiperEngine(VOICE)
    yield engine
    await engine.close()


async def speak(engine: PiperEngine, text: str) -> list[SpeechChunk]:
    return [chunk async for chunk in engine.synthesise(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Hello, how can I help you?",
        "Your table is booked for Friday at 7:30 PM. Anything else?",
        "It's -3 degrees — really; Dr. Smith's o'clock!",
        "1,250 people of the town, in 200 years, for $12.50, e.g. on May 3rd.",
        "Order 4 8 2 1 3 is   delayed.\nIt arrives\ton Friday.",
        "- yes -",
        "Ok",
        "...",
        "Press [[ or ]] now.",
        "Grüße 😀 naïve 日本",
    ],
)
async def test_all_words_are_there_in_order_inside_the_audio(engine: PiperEngine, text: str) -> None:
    chunks = await speak(engine, text)
    words = [word for chunk in chunks for word in chunk.words]
    assert " ".join(word.text for word in words) == " ".join(text.split())
    duration_ms = sum(len(chunk.pcm) for chunk in chunks) * 1000 / engine.sample_rate_hz
    times = [time for word in words for time in (word.start_ms, word.end_ms)]
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] <= duration_ms + 1
    assert all(chunk.pcm.dtype == np.int16 for chunk in chunks)


async def test_a_sentence_is_a_chunk_and_its_words_begin_in_it(engine: PiperEngine) -> None:
    chunks = await speak(engine, "The first one. And the second one. Third?")
    assert [" ".join(word.text for word in chunk.words) for chunk in chunks] == [
        "The first one.",
        "And the second one.",
        "Third?",
    ]
    start_ms = 0.0
    for chunk in chunks:
        assert start_ms <= chunk.words[0].start_ms < start_ms + len(chunk.pcm) * 1000 / engine.sample_rate_hz
        start_ms += len(chunk.pcm) * 1000 / engine.sample_rate_hz


async def test_word_times_are_where_the_sound_is(engine: PiperEngine) -> None:
    (chunk,) = await speak(engine, "Seven")
    first, last = edges(chunk.pcm.astype(np.float32) / np.float32(32768))
    assert chunk.words[0].start_ms == pytest.approx(first * 1000 / engine.sample_rate_hz, abs=80)
    assert chunk.words[0].end_ms == pytest.approx(last * 1000 / engine.sample_rate_hz, abs=120)


async def test_nothing_to_say_is_no_audio(engine: PiperEngine) -> None:
    assert await speak(engine, "  ") == []


async def test_speech_can_be_slower_and_louder() -> None:
    normal, slow = PiperEngine(VOICE), PiperEngine(VOICE, PiperOptions(length_scale=1.5))
    (a,) = await speak(normal, "Hello there.")
    (b,) = await speak(slow, "Hello there.")
    assert len(b.pcm) > len(a.pcm) * 1.2
    await normal.close()
    await slow.close()
    softer = PiperEngine(VOICE, PiperOptions(volume=0.4))
    (c,) = await speak(softer, "Hello there.")
    assert np.abs(c.pcm).max() == pytest.approx(np.abs(a.pcm).max() / 2, rel=0.02)
    await softer.close()


async def test_calls_share_the_voice(engine: PiperEngine) -> None:
    spoken = await asyncio.gather(*(speak(engine, f"Number {n}. And more.") for n in range(10)))
    assert [chunks[0].words[1].text for chunks in spoken] == [f"{n}." for n in range(10)]


async def test_closing_the_generator_stops_the_work(engine: PiperEngine) -> None:
    speech = engine.synthesise("One. " * 200)
    assert (await anext(speech)).words[0].text == "One."
    await speech.aclose()
    assert len(await speak(engine, "After that.")) == 1


async def test_too_much_at_once_is_refused(engine: PiperEngine) -> None:
    with pytest.raises(EngineError, match="at most 2000"):
        await speak(engine, "word " * 500)
    results = await asyncio.gather(*(speak(engine, "Hello.") for _ in range(MAX_WAITING + 5)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, EngineError)]
    assert len(refused) == 5
    assert "overloaded" in str(refused[0])


def test_a_voice_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds 0 \.onnx files"):
        PiperEngine(tmp_path)
    model, config = tmp_path / "voice.onnx", tmp_path / "voice.onnx.json"
    model.write_bytes((VOICE / "voice.onnx").read_bytes()[:50_000])
    with pytest.raises(ModelError, match=r"voice\.onnx\.json: cannot be read"):
        PiperEngine(tmp_path)
    config.write_text("{")
    with pytest.raises(ModelError, match="not valid JSON"):
        PiperEngine(tmp_path)
    config.write_text(json.dumps({"audio": {}}))
    with pytest.raises(ModelError, match="not a Piper voice's configuration"):
        PiperEngine(tmp_path)
    shutil.copy(VOICE / "voice.onnx.json", config)
    with pytest.raises(ModelError, match="cannot be loaded as a Piper voice") as caught:
        PiperEngine(model)
    assert "\n" not in str(caught.value)


def test_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="unknown field `speed`"):
        create(VOICE, {"speed": 2})
    with pytest.raises(ConfigError, match="needs a model"):
        create(None, {})
    with pytest.raises(ConfigError, match=r"speaker_id is 7; voice\.onnx expects 0: it has one speaker"):
        create(VOICE, {"speaker_id": 7})


FULL = 32767


def speech(peak: float, samples: int = 16_000) -> np.ndarray:
    return (np.random.default_rng(1).laplace(size=samples) * peak / 9).clip(-peak, peak).astype(np.float32)


def test_ordinary_peaks_come_near_the_wanted_one_however_loud_the_voice_is() -> None:
    for peak in (0.01, 0.3, 1.2):
        loud = np.abs(Loudness.of(speech(peak), 0.5).pcm(speech(peak))).astype(int)
        assert 0.2 * FULL < np.quantile(loud, 0.99) < 0.3 * FULL


def test_silence_stays_silence() -> None:
    for silence in (np.zeros(100, np.float32), np.zeros(0, np.float32)):
        assert not Loudness.of(silence, 0.8).pcm(np.ones(10, np.float32)).any()


@given(st.lists(st.floats(-50, 50, width=32), max_size=50), st.floats(0.01, 1.0), st.floats(0.01, 10.0))
def test_louder_in_is_louder_out_and_never_clipped(values: list[float], peak: float, gain: float) -> None:
    audio = np.array(sorted(values), np.float32)
    pcm = Loudness(gain, peak).pcm(audio)
    assert pcm.dtype == np.int16
    assert np.all(np.diff(pcm.astype(int)) >= 0)
    assert np.array_equal(pcm, -Loudness(gain, peak).pcm(-audio))


@given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=50), st.integers(0, 50))
def test_chunks_are_as_loud_as_the_whole(values: list[float], cut: int) -> None:
    audio, loudness = np.array(values, np.float32), Loudness(1.3, 0.8)
    parts = [loudness.pcm(audio[:cut]), loudness.pcm(audio[cut:])]
    assert np.array_equal(np.concatenate(parts), loudness.pcm(audio))
