"""The bundled speech models do what their cards say, on a few clips; `python -m bench bundled` measures them in full."""

from pathlib import Path

import numpy as np
import pytest

from bench.bundled.speech import Listener, held_out, measure_voice, normalised, word_error_rate
from models.train.espeak import Espeak, EspeakError
from models.train.not_speech import KINDS, not_speech
from models.train.telephone import telephone_band
from voiceagent.errors import ModelError
from voiceagent.models.registry import resolve
from voiceagent.stt.short_whisper import content_frames, frames_to_encode


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener(resolve("micro-whisper"))


def test_speech_is_understood_and_punctuated(listener: Listener) -> None:
    speech = Espeak().say("what's the weather in paris tomorrow?", "en-us")
    assert listener.hear(speech.resampled(16000)) == "What's the weather in Paris tomorrow?"


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_that_is_not_speech_has_no_words(listener: Listener, kind: str) -> None:
    assert listener.hear(not_speech(kind, 5, 2.0, -30)) == ""


def test_the_bundled_voice_gives_the_time_of_every_phoneme() -> None:
    from piper import PiperVoice

    voice = PiperVoice.load(resolve("micro-voice") / "voice.onnx")
    (chunk,) = voice.synthesize("Your table is booked.", include_alignments=True)
    assert chunk.phoneme_alignments is not None
    assert sum(part.num_samples for part in chunk.phoneme_alignments) == len(chunk.audio_float_array)
    assert np.abs(chunk.audio_float_array[-1600:]).max() == 0
    assert np.abs(chunk.audio_float_array).max() > 0.5


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=str(tmp_path)):
        Listener(tmp_path)
    with pytest.raises(ModelError, match=r"no voice"):
        measure_voice(resolve("micro-whisper"), tmp_path)


def test_espeak_names_a_voice_it_does_not_have() -> None:
    with pytest.raises(EspeakError, match="en-zz"):
        Espeak().say("hello", "en-zz")


def test_espeak_says_the_same_whatever_was_said_before() -> None:
    texts = [
        ("What time is it in Paris?", "en-us"),
        ("Wie spät ist es?", "de"),
        ("¿Qué hora es?", "es"),
        ("No.", "en-us+whisper"),
    ]
    first = [Espeak().say(*text).samples for text in texts]
    again = [Espeak().say(*text).samples for text in reversed(texts)]
    assert all(np.array_equal(*pair) for pair in zip(first, reversed(again), strict=True))


def test_espeak_marks_words_and_phonemes_also_after_piper_used_the_library() -> None:
    from piper.phonemize_espeak import EspeakPhonemizer

    EspeakPhonemizer().phonemize("en-us", "hello")
    speech = Espeak().say("hello there", "en-us")
    assert [mark.text_offset for mark in speech.words] == [0, 6]
    assert [mark.ipa for mark in speech.phonemes][:2] == ["h", "ə"]


def test_the_held_out_list_has_every_set_and_none_of_its_voices_twice_in_training_sets() -> None:
    sizes = {name: len(held_out(name)) for name in ("sentences", "voices", "telephone", "bundled_voice", "not_speech")}
    assert sizes == {"sentences": 200, "voices": 150, "telephone": 150, "bundled_voice": 100, "not_speech": 140}
    variants = {name: {entry.voice.split("+")[1] for entry in held_out(name)} for name in ("sentences", "voices")}
    assert not variants["sentences"] & variants["voices"]


def test_word_errors_ignore_case_and_punctuation_but_not_digits() -> None:
    assert normalised("It's 7:30 PM, please.") == "it's 7:30 pm please"
    assert word_error_rate([("Yes, at 7:30.", "yes at 7:30"), ("Order 48271.", "order 48211")]) == 20.0


def test_the_telephone_band_keeps_a_voice_and_drops_what_lies_outside() -> None:
    at_s = np.arange(16000) / 16000
    inside, outside = (np.sin(2 * np.pi * hz * at_s).astype(np.float32) * 0.3 for hz in (1000, 6000))
    assert telephone_band(inside).std() == pytest.approx(inside.std(), rel=0.05)
    assert telephone_band(outside).std() < 0.01
    assert len(telephone_band(np.zeros(0, np.float32))) == 0


def test_frames_to_encode_are_even_and_never_look_like_mel_bands() -> None:
    for content in range(1, 400):
        frames = frames_to_encode(content, margin_frames=10, min_frames=50, feature_size=80)
        assert frames % 2 == 0
        assert frames // 2 != 80
        assert frames >= max(50, content + 10)


def test_frames_to_encode_are_never_more_than_an_encoder_takes() -> None:
    options = {"margin_frames": 256, "min_frames": 50, "feature_size": 80, "step_frames": 100}
    assert [frames_to_encode(content, **options) for content in (200, 250, 2800, 3000)] == [500, 600, 3000, 3000]


def test_content_ends_where_the_padding_begins() -> None:
    features = np.zeros((80, 300), np.float32)
    features[:, :120] = -1.5
    assert content_frames(features) == 120
    assert content_frames(np.zeros((80, 300), np.float32)) == 0
