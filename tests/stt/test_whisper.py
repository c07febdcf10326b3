"""The bundled Whisper behind the stream: real speech in frames, partials while it grows, the words at its end, and clear
errors for what is no model."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import jiwer
import numpy as np
import pytest

from models.train import domain
from tests.speech import frames, noise, said, silence
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.models.registry import profile, resolve
from voiceagent.resources import bundled_models_dir
from voiceagent.stt.decoder import heard_language, leading_text
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis, RecognisedWord
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.turn_taking.patience import ExpectedValue

SENTENCE = "What time is it in Paris?"


def load(**options: object) -> WhisperEngine:
    spec = profile("embedded").stt
    return create(resolve(spec.model), {**spec.options, **options})


@pytest.fixture
async def engine() -> AsyncIterator[WhisperEngine]:
    engine = load()
    yield engine
    await engine.close()


def bare(text: str) -> str:
    return re.sub(r"[^a-z0-9 ]", "", text.lower())


async def test_partials_come_while_the_caller_speaks_and_the_final_has_the_words(engine: WhisperEngine) -> None:
    transcriber = UtteranceTranscriber(engine)
    heard = frames(said(SENTENCE))
    transcriber.begin(3, np.concatenate([silence(200), *heard[:5]]))
    stable = ""
    partials = 0
    for index, frame in enumerate(heard[5:]):
        transcriber.feed(frame, 0.0)
        if index % 10 == 9 and (partial := await transcriber.partial()) is not None:
            assert partial.stable.startswith(stable)
            stable = partial.stable
            partials += 1
    for index, frame in enumerate(frames(silence(400))):
        transcriber.feed(frame, (index + 1) * 20.0)
    final = await transcriber.final()
    assert partials >= 3
    assert final is not None
    assert (final.utterance_id, bare(final.text)) == (3, bare(SENTENCE))
    await transcriber.close()


async def test_two_sentences_with_a_short_pause_between_them_keep_their_words(engine: WhisperEngine) -> None:
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, silence(200))
    for sentence in (SENTENCE, "Book a table for two on Friday."):
        for frame in frames(said(sentence)):
            transcriber.feed(frame, 0.0)
        for index, frame in enumerate(frames(silence(300))):
            transcriber.feed(frame, (index + 1) * 20.0)
            final = await transcriber.final()
    assert final is not None
    assert bare(final.text) == bare(f"{SENTENCE} Book a table for two on Friday.")
    await transcriber.close()


async def test_an_utterance_longer_than_the_model_keeps_its_words(engine: WhisperEngine) -> None:
    rng = random.Random(5)
    sentences = [domain.held_out_utterance(rng) for _ in range(12)]
    heard = frames(*(part for sentence in sentences for part in (said(sentence.spoken), silence(300))))
    assert len(heard) * 0.02 > 2 * engine.max_audio_s
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, silence(200))
    for index, frame in enumerate(heard):
        transcriber.feed(frame, 0.0)
        if index % 10 == 9:
            await transcriber.partial()
    final = await transcriber.final()
    assert final is not None
    assert jiwer.wer(bare(" ".join(sentence.written for sentence in sentences)), bare(final.text)) <= 0.2
    await transcriber.close()


@pytest.mark.parametrize("sound", [silence(1500), noise(1500, 0.01), noise(1500, 0.1)], ids=["silence", "hiss", "noise"])
async def test_what_is_no_speech_is_no_text(engine: WhisperEngine, sound: np.ndarray) -> None:
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, sound)
    final = await transcriber.final()
    assert final is not None
    assert final.text == ""
    await transcriber.close()


async def test_word_times_lie_inside_the_audio_in_order(engine: WhisperEngine) -> None:
    audio = said(SENTENCE).astype(np.float32) / np.float32(32768)
    hypothesis = await engine.transcribe(audio, word_times=True)
    starts = [word.start_s for word in hypothesis.words]
    assert bare(hypothesis.text) == bare(SENTENCE)
    assert starts == sorted(starts)
    assert hypothesis.words[-1].end_s <= len(audio) / 16000 + 0.3


async def test_calls_share_the_model(engine: WhisperEngine) -> None:
    audio = said(SENTENCE).astype(np.float32) / np.float32(32768)
    texts = {h.text for h in await asyncio.gather(*(engine.transcribe(audio, final=True) for _ in range(8)))}
    assert len(texts) == 1


async def test_windows_of_several_calls_are_decoded_in_one_run_to_the_same_words_as_alone() -> None:
    engine = load(compute_type="float32")  # in 8 bits some CPUs round so that a word's end moves by a tenth of a second
    sentences = ["What time is it in Paris?", "What time is it in Rome?", "What day is it in London?", "How is it in Berlin?"]
    spoken = [said(sentence).astype(np.float32) / np.float32(32768) for sentence in sentences]
    audio = [np.pad(part, (0, 2 * 16000 - len(part))) for part in spoken]
    runs: list[int] = []
    decode = engine.decoder.decode

    def counted(windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        runs.append(len(windows))
        return decode(windows)

    try:
        alone = [await engine.transcribe(part, word_times=True) for part in audio]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine.decoder, "decode", counted)
            together = await asyncio.gather(*(engine.transcribe(part, word_times=True) for part in audio))
    finally:
        await engine.close()
    assert [heard.text for heard in together] == [heard.text for heard in alone]
    assert [bare(heard.text) for heard in alone] == [bare(sentence) for sentence in sentences]
    for one, other in zip(together, alone, strict=True):
        assert [word.end_s for word in one.words] == pytest.approx([word.end_s for word in other.words], abs=0.09)
    assert sum(runs) == 4
    assert max(runs) > 1


async def test_a_final_in_doubt_is_decoded_once_more_and_the_likelier_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = profile("embedded").stt
    doubts = {"doubt_below": 0.0, "doubt_margin_frames": 40}  # all finals: no probability is above 1
    engine = create(resolve(spec.model), {**spec.options, **doubts})
    decode, decoded = engine._decode, list[tuple[bool, Hypothesis]]()

    def seen(windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        found = decode(windows)
        decoded.extend(zip([window.thorough for window in windows], found, strict=True))
        return found

    monkeypatch.setattr(engine.queue, "_decode", seen)
    audio = said(SENTENCE).astype(np.float32) / np.float32(32768)
    try:
        await engine.transcribe(audio)
        assert [thorough for thorough, _ in decoded] == [False], "no partial is decoded again"
        decoded.clear()
        heard = await engine.transcribe(audio, final=True)
    finally:
        await engine.close()
    assert [thorough for thorough, _ in decoded] == [False, True]
    assert heard.mean_log_probability == max(one.mean_log_probability for _, one in decoded)
    assert bare(heard.text) == bare(SENTENCE)


async def test_what_is_decoded_early_is_not_decoded_again_in_doubt_before_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = profile("embedded").stt
    engine = create(resolve(spec.model), {**spec.options, "doubt_below": 0.0, "doubt_margin_frames": 40})
    decode, decoded = engine._decode, list[bool]()
    first_done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def seen(windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        found = decode(windows)
        decoded.extend(window.thorough for window in windows)
        loop.call_soon_threadsafe(first_done.set)
        return found

    monkeypatch.setattr(engine.queue, "_decode", seen)
    transcriber = UtteranceTranscriber(engine)
    audio = said(SENTENCE)
    try:
        transcriber.begin(1, audio)
        early = asyncio.create_task(transcriber.final(early=True))
        await first_done.wait()
        for _ in range(3):
            await engine.transcribe(audio.astype(np.float32) / np.float32(32768), urgent=True)  # goes behind finals that wait
        assert decoded == [False] * 4
        transcriber.feed(frames(audio)[0], 0.0)
        assert await early is None, "the caller speaks on"
        decoded.clear()
        first_done.clear()
        early = asyncio.create_task(transcriber.final(early=True))
        await first_done.wait()
        wanted = await transcriber.final()
        assert decoded == [False, True]
        assert await early is wanted
        transcriber.forget_early_final()
        assert await transcriber.final() is wanted, "it was wanted"
        transcriber.begin(2, audio)
        first_done.clear()
        early = asyncio.create_task(transcriber.final(early=True))
        await first_done.wait()
        transcriber.forget_early_final()
        assert await early is None
    finally:
        await engine.close()


async def test_a_final_that_is_refused_anyway_is_not_decoded_again() -> None:
    doubting = create(resolve(profile("embedded").stt.model), {"doubt_below": 0.0})
    try:
        heard = Hypothesis((RecognisedWord("Okay.", 0.0, 0.2, 0.3),), 0.8, -1.2, 1.0)
        assert not doubting.doubts(heard, 1.0)
        assert doubting.doubts(replace(heard, mean_log_probability=-0.3), 1.0)
    finally:
        await doubting.close()


async def test_windows_with_prompts_of_other_lengths_share_no_run(engine: WhisperEngine) -> None:
    audio = np.zeros(16000, np.float32)
    short, long = (engine.decoder.shape(DecodeWindow(audio, "a table for two " * count)) for count in (1, 8))
    assert (short.frames, short.prompt_tokens < long.prompt_tokens) == (long.frames, True)
    assert engine.decoder.shape(DecodeWindow(audio, "a table for two " * 80)).prompt_tokens <= 200
    texts = [hypothesis.text for hypothesis in engine.decoder.decode([DecodeWindow(audio, "a table for two " * 8)] * 2)]
    assert texts == ["", ""]


async def test_too_much_audio_for_one_decode_is_refused(engine: WhisperEngine) -> None:
    with pytest.raises(EngineError, match="at most 10 s"):
        await engine.transcribe(np.zeros(31 * 16000, np.float32))


def test_what_is_no_whisper_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.bin in it"):
        WhisperEngine(tmp_path)
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded as a Whisper") as caught:
        WhisperEngine(tmp_path)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="unknown field `speed`"):
        create(tmp_path, {"speed": 1})
    with pytest.raises(ConfigError, match="needs a model"):
        create(None, {})


def test_what_faster_whisper_encodes_is_padded_as_what_calls_encode() -> None:
    path = str(bundled_models_dir() / "whisper")
    model = ShortWhisper(path, margin_fill=0.5, device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)
    features = model.features(said("What time is it?").astype(np.float32) / np.float32(32768))
    frames = model.frames_to_encode(features.shape[1])
    from_calls = np.array(model.encode_frames([features], frames))
    padded_to_30_s = np.pad(features, ((0, 0), (0, 3000 - features.shape[1])))
    np.testing.assert_allclose(np.array(model.encode(padded_to_30_s)), from_calls, atol=1e-4)


def test_padding_of_silence_is_what_digital_silence_behind_the_audio_would_be() -> None:
    path = str(bundled_models_dir() / "whisper")
    model = ShortWhisper(path, margin_fill="silence", device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)
    audio = said("What time is it?").astype(np.float32) / np.float32(32768)
    features = model.features(audio)
    frames = model.frames_to_encode(features.shape[1])
    silent = model.features(np.pad(audio, (0, 16_000)))
    silent = silent[:, -1:].repeat(frames - features.shape[1], axis=1)
    padded = np.concatenate([features, silent], axis=1)
    np.testing.assert_allclose(np.array(model.encode_frames([features], frames)), np.array(model.encode_frames([padded], frames)))


@pytest.mark.parametrize(
    ("chances", "likely", "heard"),
    [
        ({"th": 0.94, "de": 0.02, "en": 0.01}, "", "de"),  # none of them: the best at the beginning …
        ({"th": 0.94, "de": 0.02, "en": 0.01}, "en", "en"),  # … and the call's later
        ({"th": 0.50, "de": 0.45, "en": 0.05}, "en", "de"),
        ({"de": 0.50, "en": 0.45}, "en", "en"),
        ({"de": 0.50, "en": 0.45}, "de", "de"),
        ({"en": 0.97, "de": 0.02}, "de", "en"),
        ({"de": 0.50, "en": 0.45}, "fr", "de"),  # the call's language is none of the agent's
        ({}, "", "de"),
    ],
)
def test_an_utterance_is_taken_for_one_of_the_agents_languages(chances: dict[str, float], likely: str, heard: str) -> None:
    assert heard_language(chances, ("de", "en"), likely) == heard


def test_a_hint_leads_in_place_of_digits_and_choices() -> None:
    assert leading_text(ExpectedValue(digits=True, choices=("small",))) == "Four. Seven. One. Nine. Three. Small."
    assert leading_text(ExpectedValue(digits=True, hint="Null eins sieben.")) == "Null eins sieben."
