"""Voices of the published voices' architecture, spoken by the engine: small chunks first, exact word times, calls in turns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from piper import PiperVoice, SynthesisConfig

from tests.tts.vits import HOP_SAMPLES, PLAIN, RATE_HZ, Shape, write_voice
from voiceagent.errors import ConfigError
from voiceagent.resources import bundled_models_dir
from voiceagent.tts.chunks import FIRST_FRAMES, ChunkedSentence, ChunkedVoice
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.piper import PiperEngine, PiperOptions
from voiceagent.tts.split import with_durations

TEXT = "Your table is booked for seven. And for 25 people, of course!"
STILL = PiperOptions(noise_scale=0.0, noise_w_scale=0.0)
Make = Callable[..., PiperEngine]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[PiperEngine] = []

    def engine(shape: Shape = PLAIN, settings: PiperOptions = STILL) -> PiperEngine:
        made.append(PiperEngine(write_voice(tmp_path, shape), settings))
        return made[-1]

    yield engine
    for each in made:
        await each.close()


async def speak(engine: PiperEngine, text: str = TEXT) -> list[SpeechChunk]:
    return [chunk async for chunk in engine.synthesise(text)]


def by_piper(path: Path) -> list[tuple[float, np.ndarray, list[float]]]:
    """What piper-tts makes of `TEXT`: for every sentence its start in ms, its audio and the starts of its phoneme groups."""
    patched = path.with_name("patched.onnx")
    onnx.save(with_durations(onnx.load(str(path))), str(patched))
    voice = PiperVoice.load(patched, config_path=f"{path}.json")
    settings = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, normalize_audio=False)
    start_ms, found = 0.0, []
    for chunk in voice.synthesize(TEXT, settings, include_alignments=True):
        at_samples, after_space, starts_ms = 0, True, []
        assert chunk.phoneme_alignments is not None
        for alignment in chunk.phoneme_alignments:
            if alignment.phoneme not in "^$ _,.!" and after_space:
                starts_ms.append(start_ms + at_samples * 1000 / RATE_HZ)
            after_space = alignment.phoneme in "^ " or (after_space and alignment.phoneme == "_")
            at_samples += alignment.num_samples
        found.append((start_ms, chunk.audio_float_array, starts_ms))
        start_ms += at_samples * 1000 / RATE_HZ
    return found


async def test_a_sentence_comes_in_chunks_of_which_the_first_is_small(make: Make) -> None:
    chunks = await speak(make())
    assert len(chunks[0].pcm) == FIRST_FRAMES * HOP_SAMPLES
    assert len(chunks) > 6


async def test_the_audio_is_what_piper_makes_of_the_whole_sentences(make: Make, tmp_path: Path) -> None:
    engine = make()
    pcm = np.concatenate([chunk.pcm for chunk in await speak(engine)])
    wanted = engine._loudness.pcm(np.concatenate([audio for _, audio, _ in by_piper(tmp_path / "voice.onnx")]))
    assert len(pcm) == len(wanted)
    assert np.abs(pcm.astype(int) - wanted).max() <= 1


async def test_words_begin_where_piper_says_that_their_phonemes_do(make: Make, tmp_path: Path) -> None:
    words = [word for chunk in await speak(make()) for word in chunk.words]
    assert [word.text for word in words] == TEXT.split()
    wanted = [start for _, _, starts in by_piper(tmp_path / "voice.onnx") for start in starts]
    assert len(wanted) > len(words)  # 25 is two groups
    found = [word.start_ms for word in words]
    assert all(min(abs(start - other) for other in wanted) < 0.06 for start in found)
    assert found[:6] == pytest.approx(wanted[:6], abs=0.06)
    assert found == sorted(found)


async def test_a_word_comes_with_the_chunk_in_which_it_begins(make: Make) -> None:
    start_ms = 0.0
    for chunk in await speak(make()):
        end_ms = start_ms + len(chunk.pcm) * 1000 / RATE_HZ
        assert all(start_ms - 0.06 <= word.start_ms <= end_ms for word in chunk.words)
        start_ms = end_ms


async def test_every_speaker_can_speak(make: Make) -> None:
    said = []
    for speaker in (None, 0, 2):
        settings = PiperOptions(noise_scale=0.0, noise_w_scale=0.0, speaker_id=speaker)
        said.append(np.concatenate([chunk.pcm for chunk in await speak(make(Shape(speakers=3), settings))]))
    assert np.array_equal(said[0], said[1])
    assert len(said[1]) == len(said[2])
    assert not np.array_equal(said[1], said[2])


def test_a_speaker_that_the_voice_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"speaker_id is 7; voice\.onnx expects 0 to 1"):
        PiperEngine(write_voice(tmp_path, Shape(speakers=2)), PiperOptions(speaker_id=7))


async def test_a_voice_that_cannot_be_cut_speaks_whole_sentences_and_says_so(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    chunks = await speak(make(Shape(padded_vocoder=True)))
    assert len(chunks) == 2
    assert [word.text for chunk in chunks for word in chunk.words] == TEXT.split()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "is spoken a sentence at a time" in record.message
    assert "is a Pad" in record.message


@pytest.mark.parametrize("shape", [Shape(shifted_flow=True), Shape(noise=False)])
async def test_a_flow_that_cannot_be_cut_stays_whole(make: Make, shape: Shape, caplog: pytest.LogCaptureFixture) -> None:
    chunks = await speak(make(shape))
    assert len(chunks[0].pcm) == FIRST_FRAMES * HOP_SAMPLES
    assert not caplog.records


async def test_the_bundled_voice_is_whole_on_purpose(caplog: pytest.LogCaptureFixture) -> None:
    engine = PiperEngine(bundled_models_dir() / "voice")
    assert len(await speak(engine)) == 2
    assert not caplog.records
    await engine.close()


async def test_without_durations_word_times_are_estimates_in_order(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    chunks = await speak(make(Shape(rounds=False)))
    words = [word for chunk in chunks for word in chunk.words]
    times = [time for word in words for time in (word.start_ms, word.end_ms)]
    assert [word.text for word in words] == TEXT.split()
    assert times == sorted(times)
    assert times[-1] <= sum(len(chunk.pcm) for chunk in chunks) * 1000 / RATE_HZ + 0.1
    assert ["word times are estimates" in record.message for record in caplog.records] == [True]


async def test_a_reply_that_is_dropped_ends_between_two_chunks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, decoded = make(), list[int]()
    decode = ChunkedVoice.decode

    def counted(voice: ChunkedVoice, sentence: ChunkedSentence, start: int, end: int) -> np.ndarray:
        decoded.append(start)
        return decode(voice, sentence, start, end)

    monkeypatch.setattr(ChunkedVoice, "decode", counted)
    speech = engine.synthesise(TEXT)
    await anext(speech)
    await speech.aclose()
    assert decoded == [0]
    await speak(engine, "Yes.")
    assert decoded.count(0) == 2


async def test_calls_take_turns_by_the_chunk(make: Make) -> None:
    engine, order = make(), list[str]()

    async def call(name: str) -> None:
        async for _ in engine.synthesise(TEXT):
            order.append(name)

    await asyncio.gather(call("first"), call("second"))
    assert order[:4] == ["first", "second"] * 2
