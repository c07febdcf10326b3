"""The short turns that Whisper is tuned on: held-out texts and voices stay out, and every unit knows where it is said."""

from __future__ import annotations

import random

import numpy as np

from models.train import domain
from models.train.short_turns import short_turn
from models.train.stt_corpus import SAMPLE_RATE_HZ, Clip
from models.train.stt_speak import HELD_OUT_VARIANTS, any_trained_voice, cut_hard, espeak_speaker


def test_short_turns_are_short_and_never_held_out() -> None:
    rng = random.Random(2)
    turns = [short_turn(rng, hums=True) for _ in range(2000)]
    written = [" ".join(unit.written for unit in units) for units in turns]
    assert not any(domain.is_held_out(text) for text in written)
    assert {"No.", "Stop.", "Wait.", "Hold on.", "Mm-hm."} <= set(written)
    assert max(len(text.split()) for text in written) <= 4


def test_a_piper_voice_is_given_no_phonemes_of_espeak() -> None:
    rng = random.Random(3)
    assert not any("[[" in unit.spoken for _ in range(1000) for unit in short_turn(rng, hums=False))


def short_clips() -> list[Clip]:
    rng = random.Random(4)
    speak = espeak_speaker()
    return [speak(rng, short_turn(rng, hums=True)) for _ in range(20)]


def test_a_clip_cut_hard_begins_and_ends_loud_and_its_words_lie_inside() -> None:
    for clip in short_clips():
        cut = cut_hard(clip)
        level = np.abs(cut.audio.astype(int))
        assert min(level[0], level[-1]) > level.max() / 30
        assert SAMPLE_RATE_HZ // 20 < len(cut.audio) <= len(clip.audio)
        assert len(cut.label.spans) == len(clip.label.units)
        assert all(0 <= start < end <= len(cut.audio) for start, end in cut.label.spans)
        assert all(0 <= start <= len(cut.audio) for start, _ in cut.label.phonemes)


def test_no_voice_of_the_held_out_list_is_trained_on() -> None:
    rng = random.Random(5)
    drawn = [any_trained_voice(rng) for _ in range(2000)]
    assert not any(voice.endswith(f"+{variant}") for voice in drawn for variant in HELD_OUT_VARIANTS)
    assert not any("en-gb-x-rp" in voice for voice in drawn)
