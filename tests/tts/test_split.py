"""A voice cut at its latent: its chunks are the whole sentence, any stretch of it is, and what cannot be cut is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.tts.vits import HOP_SAMPLES, Shape, write_voice
from voiceagent.tts.chunks import FIRST_FRAMES, MOST_FRAMES, ChunkedSentence, ChunkedVoice, signal_to_noise_db, spans
from voiceagent.tts.split import Margin, NotSplittableError, split, with_durations

SILENT = (0.0, 1.0, 0.0)
"""Scales without noise: every run gives the same audio."""


def options() -> onnxruntime.SessionOptions:
    found = onnxruntime.SessionOptions()
    found.intra_op_num_threads = 1
    found.log_severity_level = 3
    return found


def inputs(ids: int = 60, scales: tuple[float, float, float] = SILENT, speaker: int | None = None) -> dict[str, NDArray[Any]]:
    chosen = np.random.default_rng(3).integers(3, 150, (1, ids))
    found = {"input": chosen, "input_lengths": np.array([ids]), "scales": np.array(scales, np.float32)}
    return found if speaker is None else found | {"sid": np.array([speaker])}


def whole(path: Path, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    audio: NDArray[np.float32] = onnxruntime.InferenceSession(str(path), options()).run(None, feeds)[0].reshape(-1)
    return audio


def joined(voice: ChunkedVoice, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    return np.concatenate(list(voice.begin(feeds).chunks()))


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> ChunkedVoice:
    return ChunkedVoice(split(onnx.load(str(write_voice(tmp_path_factory.mktemp("voice"))))), options())


@pytest.mark.parametrize("flow", [True, False])
@pytest.mark.parametrize("speakers", [1, 3])
def test_the_joined_chunks_are_the_audio_of_the_uncut_voice(tmp_path: Path, speakers: int, flow: bool) -> None:
    path = write_voice(tmp_path, Shape(speakers=speakers))
    voice = ChunkedVoice(split(onnx.load(str(path)), flow=flow), options())
    for speaker in range(speakers) if speakers > 1 else [None]:
        feeds = inputs(speaker=speaker)
        assert len(list(voice.begin(feeds).chunks())) > 5
        assert signal_to_noise_db(whole(path, feeds), joined(voice, feeds)) >= 100


def test_speakers_differ(tmp_path: Path) -> None:
    path = write_voice(tmp_path, Shape(speakers=2))
    voice = ChunkedVoice(split(onnx.load(str(path))), options())
    first, second = joined(voice, inputs(speaker=0)), joined(voice, inputs(speaker=1))
    assert signal_to_noise_db(first, second) < 20


def test_noise_is_drawn_once_a_sentence(voice: ChunkedVoice) -> None:
    feeds = inputs(scales=(0.7, 1.0, 0.8))
    tensors = voice.begin(feeds).tensors
    chunks = np.concatenate(list(ChunkedSentence(voice, tensors).chunks()))
    assert signal_to_noise_db(ChunkedSentence(voice, tensors).whole(), chunks) >= 100
    assert signal_to_noise_db(chunks, joined(voice, feeds)) < 40


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_stretch_is_that_stretch_of_the_whole(voice: ChunkedVoice, data: st.DataObject) -> None:
    sentence = voice.begin(inputs(ids=data.draw(st.integers(1, 30))))
    start = data.draw(st.integers(0, sentence.frames - 1))
    end = data.draw(st.integers(start + 1, sentence.frames))
    everything = sentence.whole()
    assert len(everything) == sentence.samples == sentence.frames * HOP_SAMPLES
    found = voice.decode(sentence, start, end)
    assert signal_to_noise_db(everything[start * HOP_SAMPLES : end * HOP_SAMPLES], found) >= 100


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("part", ["flow", "vocoder", "first upsampling", "last upsampling"])
def test_no_margin_could_be_narrower(tmp_path: Path, part: str, side: str) -> None:
    parts = split(onnx.load(str(write_voice(tmp_path))))

    def narrower(margin: Margin) -> Margin:
        return replace(margin, **{side: getattr(margin, side) - 1})

    assert parts.flow is not None
    if part == "flow":
        parts = replace(parts, flow=replace(parts.flow, margin=narrower(parts.flow.margin)))
    elif part == "vocoder":
        parts = replace(parts, vocoder=replace(parts.vocoder, margin=narrower(parts.vocoder.margin)))
    else:
        steps = list(parts.upsamplings)
        at = 0 if part.startswith("first") else -1
        steps[at] = replace(steps[at], margin=narrower(steps[at].margin))
        parts = replace(parts, upsamplings=tuple(steps))
    assert ChunkedVoice(parts, options()).likeness_db(inputs()) < 100


def test_durations_add_up_to_the_audio(voice: ChunkedVoice) -> None:
    sentence = voice.begin(inputs(ids=20))
    assert sentence.id_samples is not None
    assert len(sentence.id_samples) == 20
    assert sentence.id_samples.sum() == sentence.samples


def test_a_voice_without_noise_is_cut_at_its_latent_only(tmp_path: Path) -> None:
    model = onnx.load(str(write_voice(tmp_path, Shape(noise=False))))
    with pytest.raises(NotSplittableError, match="adds noise in 0 places"):
        split(model)
    assert split(model, flow=False).flow is None


def test_a_vocoder_that_looks_anywhere_is_refused(tmp_path: Path) -> None:
    model = onnx.load(str(write_voice(tmp_path, Shape(padded_vocoder=True))))
    with pytest.raises(NotSplittableError, match="is a Pad, which may look anywhere along time"):
        split(model)


def test_a_graph_that_misleads_is_found_out_by_its_audio(tmp_path: Path) -> None:
    model = onnx.load(str(write_voice(tmp_path, Shape(shifted_flow=True))))
    assert ChunkedVoice(split(model), options()).likeness_db(inputs()) < 20
    assert ChunkedVoice(split(model, flow=False), options()).likeness_db(inputs()) >= 100


def test_the_durations_become_an_output_once(tmp_path: Path) -> None:
    model = with_durations(onnx.load(str(write_voice(tmp_path))))
    assert len(model.graph.output) == 2
    assert len(with_durations(model).graph.output) == 2
    assert split(model).durations == model.graph.output[1].name
    assert len(with_durations(onnx.load(str(write_voice(tmp_path, Shape(rounds=False))))).graph.output) == 1


@given(st.integers(0, 5000))
def test_chunks_grow_from_a_small_first_one_and_cover_the_sentence(frames: int) -> None:
    found = list(spans(frames))
    assert [frame for start, end in found for frame in range(start, end)] == list(range(frames))
    sizes = [end - start for start, end in found]
    assert max(sizes, default=0) <= MOST_FRAMES * 3 // 2
    assert all(later <= earlier * 3 for earlier, later in itertools.pairwise(sizes))
    assert not sizes or sizes[0] < FIRST_FRAMES * 3 // 2
