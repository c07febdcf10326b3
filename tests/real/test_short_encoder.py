"""The published Whisper, given only the audio there is: it hears as well as with thirty seconds, what goes round in circles is
written again, and nothing is longer than its limit. The words are the published voice's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from bench.bundled.speech import word_error_rate
from models.train.not_speech import not_speech
from tests.real.models import published
from voiceagent.errors import ConfigError
from voiceagent.models.registry import profile
from voiceagent.stt.decoder import SHORTEST_LIMIT_TOKENS, BatchDecoder
from voiceagent.stt.gates import ends_in_a_loop
from voiceagent.stt.hypothesis import DecodeWindow
from voiceagent.stt.short_whisper import MAX_FRAMES, ShortWhisper
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.tts.piper import PiperEngine, PiperOptions

PROFILE = "real-speech"
RATE_HZ = 16_000
SENTENCES = (
    "I found your scarf behind the radiator.",
    "Does this bus stop at the stadium?",
    "The apples from our tree are very sour this year.",
    "My aunt collects stamps from all over the world.",
    "Could you send the invoice to my office?",
    "We had pancakes for breakfast.",
    "The lift is out of order again.",
    "Please leave the parcel with my neighbor.",
    "Thank you very much.",
    "Maybe later.",
)


@pytest.fixture(scope="module")
def utterances() -> list[NDArray[np.float32]]:
    """The sentences with a little silence around each, mono 16 kHz."""
    return asyncio.run(spoken(published("piper-joe")))


async def spoken(path: Path) -> list[NDArray[np.float32]]:
    voice = PiperEngine(path, PiperOptions(noise_scale=0.0, noise_w_scale=0.0))
    found = []
    for sentence in SENTENCES:
        pcm = np.concatenate([chunk.pcm async for chunk in voice.synthesise(sentence)]).astype(np.float32) / 32768
        audio = np.asarray(soxr.resample(pcm, voice.sample_rate_hz, RATE_HZ), np.float32)
        found.append(np.pad(audio, (RATE_HZ // 10, RATE_HZ // 5)))
    await voice.close()
    return found


@pytest.fixture
def model() -> ShortWhisper:
    path = published("whisper-tiny.en")
    return ShortWhisper(str(path), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


@pytest.fixture(scope="module")
def engine() -> Iterator[WhisperEngine]:
    """As the profile runs it."""
    spec = profile(PROFILE).stt
    engine = create(published(spec.model), spec.options)
    yield engine
    asyncio.run(engine.close())


async def test_short_audio_is_heard_as_well_as_thirty_seconds_at_a_third_of_the_cost(
    engine: WhisperEngine, model: ShortWhisper, utterances: list[NDArray[np.float32]]
) -> None:
    model.step_frames = MAX_FRAMES
    padded, short = BatchDecoder(model), engine.decoder
    heard: dict[str, list[str]] = {"padded": [], "short": []}
    cpu_s = {"padded": 0.0, "short": 0.0}
    for audio in utterances:
        for name, decoder in (("padded", padded), ("short", short)):
            began_s = time.process_time()
            heard[name].append(decoder.decode([DecodeWindow(audio)])[0].text)
            cpu_s[name] += time.process_time() - began_s
    errors = {name: word_error_rate(list(zip(SENTENCES, texts, strict=True))) for name, texts in heard.items()}
    assert errors["short"] <= max(5.0, errors["padded"] + 2.0), heard
    assert cpu_s["short"] <= 0.34 * cpu_s["padded"]


def test_what_goes_round_in_circles_is_written_again(model: ShortWhisper, utterances: list[NDArray[np.float32]]) -> None:
    model.margin_frames, model.step_frames = 10, 2  # too little: it does not find its end
    alone, again = BatchDecoder(model), BatchDecoder(model, loop_penalty=1.1)
    looped = [audio for audio in utterances if ends_in_a_loop(alone.decode([DecodeWindow(audio)])[0].text.split())]
    assert looped
    for audio in looped:
        assert not ends_in_a_loop(again.decode([DecodeWindow(audio)])[0].text.split())
    assert again.written_again >= len(looped)


def test_a_loop_ends_at_its_limit(model: ShortWhisper, utterances: list[NDArray[np.float32]]) -> None:
    model.margin_frames, model.step_frames = 10, 2
    decoder = BatchDecoder(model)
    for audio in utterances:
        (hypothesis,) = decoder.decode([DecodeWindow(audio)])
        assert len(hypothesis.words) <= SHORTEST_LIMIT_TOKENS + 12 * len(audio) / RATE_HZ


async def test_windows_of_one_length_share_a_run_and_loop_apart(
    model: ShortWhisper, utterances: list[NDArray[np.float32]]
) -> None:
    model.margin_frames, model.step_frames = 10, 2
    longest = max(map(len, utterances))
    windows = [DecodeWindow(np.pad(audio, (0, longest - len(audio)))) for audio in utterances[:4]]
    decoder = BatchDecoder(model, loop_penalty=1.1)
    assert [h.text for h in decoder.decode(windows)] == [decoder.decode([window])[0].text for window in windows]


@pytest.mark.parametrize("kind", ["silence", "white", "pink", "hum", "clicks"])
async def test_sounds_that_are_no_words_are_no_text(engine: WhisperEngine, kind: str) -> None:
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, (not_speech(kind, seed=77, seconds=1.5, level_db=-30.0) * 32767).astype(np.int16))
    final = await transcriber.final()
    assert final is not None
    assert final.text == ""
    await transcriber.close()


def test_a_language_that_a_multilingual_model_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"language is 'xx'; .* expects `auto` or one of: .*de,.*"):
        create(published("whisper-base"), {"language": "xx", "compute_type": "int8"})
