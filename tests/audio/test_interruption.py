from __future__ import annotations

import time

import numpy as np
import pytest

from models.train.overlap_sounds import sounds
from voiceagent.audio.interruption import LONGEST_MS, chance, features

SAMPLES_PER_MS = 16
FIRST = SAMPLES_PER_MS * 200


def speech() -> list[tuple[bool, np.ndarray]]:
    found = [sound for sound in sounds("tune", 7, 12, 1) if sound.kind in ("backchannel", "command", "sentence")]
    return [(sound.takes_floor, sound.pcm) for sound in found]


def test_speech_that_is_too_short_says_nothing() -> None:
    short = np.ones(SAMPLES_PER_MS * 70, np.int16)
    assert features(short) is None
    assert chance(short) == 0.0


def test_how_loud_it_is_does_not_matter() -> None:
    _, pcm = speech()[0]
    assert chance((pcm[:FIRST] // 4).astype(np.int16)) == pytest.approx(chance(pcm[:FIRST]), abs=0.05)


def test_silence_has_a_chance_too() -> None:
    assert 0.0 <= chance(np.zeros(FIRST, np.int16)) <= 1.0


def test_what_comes_later_changes_nothing() -> None:
    _, pcm = speech()[-1]
    longest = int(LONGEST_MS * SAMPLES_PER_MS)
    assert chance(pcm[:longest]) == chance(pcm)


def test_interruptions_have_the_better_chances() -> None:
    chances = {True: [0.0], False: [0.0]}
    for takes_floor, pcm in speech():
        chances[takes_floor].append(chance(pcm[:FIRST]))
    assert np.mean(chances[True]) > np.mean(chances[False])


def test_a_look_takes_little_time() -> None:
    audio = np.random.default_rng(0).integers(-3000, 3000, int(LONGEST_MS * SAMPLES_PER_MS)).astype(np.int16)
    times = []
    for _ in range(30):
        began = time.perf_counter()
        chance(audio)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.001
