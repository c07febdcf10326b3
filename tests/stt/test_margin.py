"""The padding behind the audio, however a Whisper is called."""

from __future__ import annotations

import numpy as np

from tests.speech import said
from voiceagent.resources import bundled_models_dir
from voiceagent.stt.short_whisper import ShortWhisper


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
