"""A published Piper voice, cut and streamed: its chunks are the whole, the first comes soon, and its word times are true."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime
import pytest
import soxr
from numpy.typing import NDArray

from bench.bundled.speech import normalised
from tests.real.models import published
from voiceagent.conversation.events import SpokenWord
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.hypothesis import DecodeWindow
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.tts.chunks import FIRST_FRAMES, ChunkedSentence, ChunkedVoice, signal_to_noise_db
from voiceagent.tts.piper import PiperEngine, PiperOptions
from voiceagent.tts.split import split

RATE_HZ = 16_000
TEXT = "The green bicycle in the window belongs to my younger sister."


@pytest.fixture(scope="module")
def voice() -> Iterator[PiperEngine]:
    engine = PiperEngine(published("piper-joe"), PiperOptions(noise_scale=0.0, noise_w_scale=0.0))
    yield engine
    asyncio.run(engine.close())


async def speak(voice: PiperEngine, text: str) -> tuple[list[NDArray[np.int16]], list[SpokenWord]]:
    chunks = [chunk async for chunk in voice.synthesise(text)]
    return [chunk.pcm for chunk in chunks], [word for chunk in chunks for word in chunk.words]


@pytest.mark.parametrize("noise", [0.0, 0.667])
def test_the_joined_chunks_are_the_audio_of_the_uncut_voice(noise: float) -> None:
    path = published("piper-joe") / "voice.onnx"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    cut = ChunkedVoice(split(onnx.load(str(path))), options)
    ids = np.random.default_rng(3).integers(3, 60, (1, 60))
    inputs = {"input": ids, "input_lengths": np.array([60]), "scales": np.array([noise, 1.0, noise], np.float32)}
    sentence = cut.begin(inputs)
    if noise:
        wanted = ChunkedSentence(cut, sentence.tensors).whole()
    else:
        wanted = onnxruntime.InferenceSession(str(path), options).run(None, inputs)[0].reshape(-1)
    assert signal_to_noise_db(wanted, np.concatenate(list(sentence.chunks()))) >= 60


async def test_the_first_chunk_is_small_and_the_others_grow(voice: PiperEngine) -> None:
    chunks, _ = await speak(voice, TEXT)
    assert len(chunks[0]) == FIRST_FRAMES * 256
    assert len(chunks[1]) > len(chunks[0])


async def test_the_audio_up_to_the_end_of_a_word_holds_the_words_up_to_it(voice: PiperEngine) -> None:
    """What the caller has heard of a reply is told by these times: another model's ears must agree."""
    model = ShortWhisper(
        str(published("whisper-tiny.en")), margin_frames=200, margin_fill=0.5, device="cpu", compute_type="int8", cpu_threads=1
    )
    decoder = BatchDecoder(model, loop_penalty=1.1)
    chunks, words = await speak(voice, TEXT)
    pcm = np.concatenate(chunks).astype(np.float32) / 32768
    assert [word.text for word in words] == TEXT.split()
    for count in (3, 6, 11):
        part = pcm[: int(words[count - 1].end_ms * voice.sample_rate_hz / 1000)]
        audio = np.pad(np.asarray(soxr.resample(part, voice.sample_rate_hz, RATE_HZ), np.float32), RATE_HZ // 5)
        heard = normalised(decoder.decode([DecodeWindow(audio)])[0].text).split()
        assert (len(heard), heard[-1]) == (count, normalised(words[count - 1].text))


@pytest.mark.parametrize("text", ["Hm.", "Oh.", "Yes.", "A.", "T."])
async def test_a_brief_clause_is_audible(voice: PiperEngine, text: str) -> None:
    chunks, _ = await speak(voice, text)
    pcm = np.concatenate(chunks)
    assert len(pcm) > 0.2 * voice.sample_rate_hz
    assert np.abs(pcm).max() > 0.3 * 32767
