"""Speech that no training has seen, with the time at which each written word ends: held-out sentences in held-out voices of
espeak-ng, in the bundled voice, and as one monologue without an end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.train import domain
from models.train.domain import Unit
from models.train.espeak import Espeak
from models.train.stt_corpus import Clip, Label
from models.train.stt_speak import HELD_OUT_VARIANTS, Speaker, piper_speaker, spoken_words, unit_spans
from voiceagent.models.registry import resolve

RATE_HZ = 16_000
SHORTEST_WORDS = 4
LONGEST_S = 9.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """A text and its audio, which begins and ends with speech."""

    text: str
    """As a perfect transcript writes it."""
    audio: NDArray[np.int16]
    """Mono at `RATE_HZ`, shape (samples,)."""
    word_ends_ms: tuple[float, ...]
    """The end of each word of `text.split()`; empty where unknown."""


def held_out_voices(count: int, seed: int = 1) -> list[Spoken]:
    """Sentences in voices of espeak-ng that training never heard."""
    return list(_sentences(_held_out_speaker(), count, seed))


def bundled_voice(count: int, seed: int = 2) -> list[Spoken]:
    """Sentences in the bundled Piper voice."""
    return list(_sentences(piper_speaker(resolve("micro-voice") / "voice.onnx"), count, seed))


def two_sentences(count: int, seed: int = 3) -> list[Spoken]:
    """Turns of two sentences, 200 to 600 ms apart."""
    rng = random.Random(seed)
    spoken = held_out_voices(2 * count, seed)
    return [_joined(pair, rng, 0.2, 0.6) for pair in zip(spoken[::2], spoken[1::2], strict=True)]


def monologue(minutes: int, seed: int = 4) -> Spoken:
    """A minute of sentences, 150 to 400 ms apart, as often as asked: never a pause that would end the turn, and each minute
    like every other."""
    minute = _joined(held_out_voices(24, seed), random.Random(seed), 0.15, 0.4)
    audio = minute.audio[: 60 * RATE_HZ]
    words = [word for word, end_ms in zip(minute.text.split(), minute.word_ends_ms, strict=True) if end_ms <= len(audio) / 16]
    return Spoken(" ".join(words * minutes), np.tile(audio, minutes), ())


def _joined(parts: Sequence[Spoken], rng: random.Random, shortest_s: float, longest_s: float) -> Spoken:
    """One after the other, pauses between them."""
    audio: list[NDArray[np.int16]] = []
    ends_ms: list[float] = []
    samples = 0
    for part in parts:
        gap = np.zeros(int(rng.uniform(shortest_s, longest_s) * RATE_HZ), np.int16)
        ends_ms += [samples / RATE_HZ * 1000 + end_ms for end_ms in part.word_ends_ms]
        audio += [part.audio, gap]
        samples += len(part.audio) + len(gap)
    return Spoken(" ".join(part.text for part in parts), np.concatenate(audio[:-1]), tuple(ends_ms))


def _held_out_speaker() -> Speaker:
    espeak = Espeak()

    def speak(rng: random.Random, units: tuple[Unit, ...]) -> Clip:
        text, owners = spoken_words(units)
        voice = f"{rng.choice(['en-us', 'en-us', 'en-gb-x-rp'])}+{rng.choice(HELD_OUT_VARIANTS)}"
        pace = int(rng.triangular(130, 230, 170))
        speech = espeak.say(text, voice, words_per_minute=pace, pitch=rng.randint(30, 70), pitch_range=rng.randint(30, 70))
        scale = RATE_HZ / speech.sample_rate_hz
        audio = np.clip(speech.resampled(RATE_HZ) * 32768, -32767, 32767).astype(np.int16)
        pauses = tuple((int(mark.start_samples * scale), mark.ipa) for mark in speech.phonemes)
        return Clip(audio, Label(units, voice, unit_spans(speech, text, owners, scale), pauses))

    return speak


def _sentences(speak: Speaker, count: int, seed: int) -> Iterator[Spoken]:
    rng = random.Random(seed)
    while count:
        utterance = domain.held_out_utterance(rng)
        clip = speak(rng, utterance.units)
        words = clip.label.written.split()
        if len(words) < SHORTEST_WORDS or len(clip.audio) > LONGEST_S * RATE_HZ or not clip.label.spans:
            continue
        yield _trimmed(clip)
        count -= 1


def _trimmed(clip: Clip) -> Spoken:
    """The clip without the silence around it, at half of full scale."""
    audio = clip.audio
    loud = np.flatnonzero(np.abs(audio.astype(np.int32)) > np.abs(audio.astype(np.int32)).max() / 30)
    first, last = int(loud[0]), int(loud[-1]) + 1
    scaled = audio[first:last] / np.abs(audio).max() * 0.5 * 32767
    ends_ms = [(min(_end_of_sound(clip, *span), last) - first) / RATE_HZ * 1000 for span in clip.label.spans]
    words_ms = [end for end, unit in zip(ends_ms, [*clip.label.units[1:], Unit("", "")], strict=True) if not unit.glue]
    return Spoken(clip.label.written, scaled.astype(np.int16), tuple(words_ms))


def _end_of_sound(clip: Clip, start: int, end: int) -> int:
    """Returns the end of a unit's last sound: a pause behind it, which its span holds too, is not part of it."""
    for at, name in reversed(clip.label.phonemes):
        if start < at < end:
            return end if name else _end_of_sound(clip, start, at)
    return end
