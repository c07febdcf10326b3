"""The audio a caller hears when a call is answered: greetings of `greetings.yaml` in several voices, beeps, the sound behind
them, and all of it through the telephone's band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
import soxr
import yaml
from numpy.typing import NDArray

from bench.answering.openings import Opening, openings
from models.train.espeak import Espeak
from models.train.not_speech import coloured_noise
from models.train.telephone import telephone_band
from voiceagent.models.registry import resolve
from voiceagent.tts.piper import PiperEngine, PiperOptions

RATE_HZ = 16_000
PIPER = "piper"
OTHERS = ("de", "es", "fr", "it", "pt", "nl")
VOICES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "tuning": {"en": (PIPER, "en-us+f3")} | {code: (f"{code}+m1", f"{code}+f2") for code in OTHERS},
    "held_out": {"en": (PIPER, "en-us+m3", "en-gb-x-rp+f2", "en-us+f5")}
    | {code: (f"{code}+m7", f"{code}+f4", f"{code}+m5", f"{code}+f1") for code in OTHERS},
}
SPEEDS = {"tuning": (165, 185), "held_out": (150, 175)}
PIPER_SCALES = {"tuning": 1.0, "held_out": 0.9}
SEEDS = {"tuning": 1, "held_out": 5000}
BEEPS = ((1000.0, 0.5), (1400.0, 0.25), (440.0, 0.2), (800.0, 1.0), (620.0, 0.16), (1850.0, 0.3), (350.0, 0.4), (0.0, 0.0))
"""Pitch and seconds; the last machine has none."""
BEHIND = ("", "pink", "babble", "brown")
"""The sounds behind the voice."""
BEHIND_DB = 18.0
"""Below it."""
LEVELS_DB = (-18.0, -24.0, -30.0)
BEFORE_S, BEFORE_BEEP_S, AFTER_S = 0.6, 0.7, 5.0
WAITS_S = 2.0
"""A person who gets no answer says something again, or hangs up."""

Audio = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Greeting:
    """One call that was answered."""

    language: str
    text: str
    voice: str
    behind: str
    is_machine: bool
    beep_end_ms: float
    """The end of its beep; 0 where there is none."""
    words_end_ms: float
    """The end of the first words."""
    audio: NDArray[np.int16]
    """Mono 16 kHz, whole frames of 20 ms."""


async def spoken_openings() -> list[tuple[Opening, Greeting]]:
    """The English openings that were kept back, as calls in the published voice. Whisper understands too little of espeak-ng's
    other languages over a telephone."""
    piper = PiperEngine(resolve("piper-joe"), PiperOptions(length_scale=PIPER_SCALES["held_out"]))
    espeak, rng = Espeak(), np.random.default_rng(9000)
    made = []
    try:
        for number, one in enumerate(one for one in openings("held_out") if one.language == "en"):
            speech = await _spoken(piper, espeak, one.text, PIPER, SPEEDS["held_out"][0])
            made.append((one, _call(rng, 2 * number, ("en", one.text, PIPER, one.kind == "machine"), speech, speech)))
    finally:
        await piper.close()
    return made


async def greetings(part: str) -> list[Greeting]:
    """All of `tuning` or `held_out`."""
    listed = yaml.safe_load(resources.files("bench.answering").joinpath("greetings.yaml").read_text("utf-8"))
    piper = PiperEngine(resolve("piper-joe"), PiperOptions(length_scale=PIPER_SCALES[part]))
    espeak = Espeak()
    rng = np.random.default_rng(SEEDS[part])
    made = []
    try:
        for number, (language, text, is_machine, voice) in enumerate(_listed(listed, part)):
            speech = await _spoken(piper, espeak, text, voice, SPEEDS[part][number % 2])
            again = await _spoken(piper, espeak, listed[language][part]["person"][0], voice, SPEEDS[part][0])
            made.append(_call(rng, number, (language, text, voice, is_machine), speech, again))
    finally:
        await piper.close()
    return made


def _listed(listed: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]], part: str) -> Iterator[tuple[str, str, bool, str]]:
    for language, parts in listed.items():
        for voice in VOICES[part][language]:
            for who, texts in parts[part].items():
                yield from ((language, text, who == "machine", voice) for text in texts)


async def _spoken(piper: PiperEngine, espeak: Espeak, text: str, voice: str, words_per_minute: int) -> Audio:
    if voice == PIPER:
        chunks = [chunk.pcm async for chunk in piper.synthesise(text)]
        audio = np.concatenate(chunks).astype(np.float32) / np.float32(32768)
        return np.asarray(soxr.resample(audio, piper.sample_rate_hz, RATE_HZ), np.float32)
    speech = espeak.say(text, voice, words_per_minute=words_per_minute)
    return _trimmed(speech.resampled(RATE_HZ))


def _trimmed(audio: Audio) -> Audio:
    audible = np.flatnonzero(np.abs(audio) > 0.01)
    return audio[audible[0] : audible[-1] + 1] if len(audible) else audio


def _call(rng: np.random.Generator, number: int, of: tuple[str, str, str, bool], speech: Audio, again: Audio) -> Greeting:
    language, text, voice, is_machine = of
    behind = BEHIND[number % len(BEHIND)]
    parts = [_silence(BEFORE_S), _level(speech)]
    words_end_s = BEFORE_S + len(speech) / RATE_HZ
    beep_end_s = 0.0
    if is_machine:
        hz, seconds = BEEPS[number % len(BEEPS)]
        parts += [_silence(BEFORE_BEEP_S), _beep(hz, seconds, rng)]
        beep_end_s = words_end_s + BEFORE_BEEP_S + seconds if hz else 0.0
        parts.append(_silence(AFTER_S))
    else:
        parts.append(_silence(WAITS_S))
        parts += [_level(again), _silence(AFTER_S - WAITS_S)] if number % 2 else [_silence(AFTER_S - WAITS_S)]
    heard = np.concatenate(parts)
    if behind:
        heard = heard + _behind(rng, behind, len(heard), again) * 10 ** (-BEHIND_DB / 20)
    heard = heard * np.float32(10 ** (LEVELS_DB[number % len(LEVELS_DB)] / 20))
    pcm = np.round(telephone_band(np.asarray(heard, np.float32).clip(-1, 1)) * 32767).astype(np.int16)
    whole = pcm[: len(pcm) // 320 * 320]
    return Greeting(language, text, voice, behind, is_machine, beep_end_s * 1000, words_end_s * 1000, whole)


def _silence(seconds: float) -> Audio:
    return np.zeros(int(seconds * RATE_HZ), np.float32)


def _level(audio: Audio) -> Audio:
    """With a root mean square of 1 where it sounds."""
    loud = audio[np.abs(audio) > 0.02]
    return np.asarray(audio / (np.sqrt(np.mean(loud**2)) + 1e-9), np.float32)


def _beep(hz: float, seconds: float, rng: np.random.Generator) -> Audio:
    at_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    fade = np.minimum(1.0, np.minimum(at_s, at_s[::-1]) / 0.005) if len(at_s) else at_s
    return np.asarray(np.sin(2 * np.pi * hz * at_s) * fade * rng.uniform(0.7, 2.0), np.float32)


def _behind(rng: np.random.Generator, kind: str, samples: int, voice: Audio) -> Audio:
    if kind == "babble":
        voices = [np.roll(np.resize(voice, samples), int(rng.integers(samples))) for _ in range(6)]
        return _level(np.asarray(np.sum(voices, axis=0), np.float32))
    return coloured_noise(rng, samples, {"pink": 0.5, "brown": 1.0}[kind])
