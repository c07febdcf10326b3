"""Measures the transcripts that a recogniser writes for sounds that are no words, and the figures of its transcripts of speech
and of such sounds: the limits of a profile are chosen on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.stt.speech import RATE_HZ, Spoken
from models.train import not_speech
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.gates import GateLimits, rejection
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis

LEVELS_DB = (-40.0, -20.0)
SECONDS = (1.0, 3.0)


@dataclass(frozen=True, slots=True)
class Judged:
    """A transcript and how long the sound was."""

    hypothesis: Hypothesis
    voiced_ms: float

    def refused(self, limits: GateLimits) -> str:
        """The gate that refuses it, if one does."""
        return rejection(self.hypothesis, self.voiced_ms, limits)


def sounds(seed: int, each: int) -> Iterator[NDArray[np.float32]]:
    """Noise, hum and tones, and coughs, doors and keys: mono at `RATE_HZ`, -1..1. Other seeds make others."""
    for number, kind in enumerate(not_speech.KINDS):
        for variant, (level_db, seconds) in enumerate(itertools.product(LEVELS_DB, SECONDS)):
            yield not_speech.not_speech(kind, seed + 100 * number + variant, seconds, level_db)
    for kind in not_speech.SUDDEN_KINDS:
        for variant in range(each):
            yield np.pad(not_speech.sudden_sound(kind, seed + variant), (RATE_HZ // 10, RATE_HZ // 5))


def of_sounds(decoder: BatchDecoder, audios: Sequence[NDArray[np.float32]]) -> list[Judged]:
    """The transcripts of sounds, those without a word left out."""
    judged = [Judged(decoder.decode([DecodeWindow(audio)])[0], len(audio) * 1000 / RATE_HZ) for audio in audios]
    return [each for each in judged if each.hypothesis.words]


def of_speech(decoder: BatchDecoder, utterances: Sequence[Spoken]) -> list[Judged]:
    """The transcripts of speech."""
    audios = [np.pad(spoken.audio.astype(np.float32) / np.float32(32768), (RATE_HZ // 10, RATE_HZ // 5)) for spoken in utterances]
    return [
        Judged(decoder.decode([DecodeWindow(audio)])[0], len(spoken.audio) * 1000 / RATE_HZ)
        for audio, spoken in zip(audios, utterances, strict=True)
    ]
