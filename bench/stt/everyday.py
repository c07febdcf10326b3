"""Everyday sentences (`everyday.yaml`) spoken by the published voice and by voices of espeak-ng, in several languages, at several
speeds, and as a telephone carries them: what published recognisers are measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import onnxruntime
import soxr
import yaml
from numpy.typing import NDArray

from bench.stt.speech import RATE_HZ, Spoken
from models.train.espeak import Espeak
from models.train.telephone import telephone_band
from voiceagent.tts.piper import PiperEngine, PiperOptions

SEED = 7
LEVEL = 0.8
"""Gain on espeak-ng's audio, which reaches full scale."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One of the list."""

    text: str
    kind: str
    """`short`, `talk`, `numbers`, `spelled`, `names` or `long`."""


def sentences(language: str, part: str) -> list[Sentence]:
    """Those of a language; `part` is `tuning` or `held_out`."""
    listed = yaml.safe_load(resources.files("bench.stt").joinpath("everyday.yaml").read_text("utf-8"))
    return [Sentence(text, kind) for kind, texts in listed[language][part].items() for text in texts]


async def by_piper(voice: Path, spoken: Sequence[Sentence], length_scales: Sequence[float]) -> list[Spoken]:
    """The sentences by a Piper voice, the speeds in turn, with the times at which the voice says that each word ends."""
    onnxruntime.set_seed(SEED)
    engines = [PiperEngine(voice, PiperOptions(length_scale=scale)) for scale in length_scales]
    found: list[Spoken] = []
    for number, sentence in enumerate(spoken):
        engine = engines[number % len(engines)]
        chunks = [chunk async for chunk in engine.synthesise(sentence.text)]
        audio = np.concatenate([chunk.pcm for chunk in chunks]).astype(np.float32)
        ends_ms = tuple(word.end_ms for chunk in chunks for word in chunk.words)
        found.append(Spoken(sentence.text, _at_rate(audio, engine.sample_rate_hz), ends_ms))
    for engine in engines:
        await engine.close()
    return found


def by_espeak(spoken: Sequence[Sentence], voices: Sequence[str], words_per_minute: Sequence[int]) -> list[Spoken]:
    """The sentences by voices of espeak-ng, voices and speeds in turn."""
    espeak = Espeak()
    found = []
    for number, sentence in enumerate(spoken):
        voice, pace = voices[number % len(voices)], words_per_minute[number % len(words_per_minute)]
        speech = espeak.say(sentence.text, voice, words_per_minute=pace)
        found.append(Spoken(sentence.text, _at_rate(speech.samples * np.float32(LEVEL), speech.sample_rate_hz), ()))
    return found


def by_telephone(spoken: Sequence[Spoken]) -> list[Spoken]:
    """The same, as it arrives over a telephone line."""
    return [
        Spoken(each.text, _pcm(telephone_band(each.audio.astype(np.float32) / np.float32(32768))), each.word_ends_ms)
        for each in spoken
    ]


def _at_rate(audio: NDArray[np.float32], rate_hz: int) -> NDArray[np.int16]:
    return _pcm(np.asarray(soxr.resample(audio / np.float32(32768), rate_hz, RATE_HZ), np.float32))


def _pcm(audio: NDArray[np.float32]) -> NDArray[np.int16]:
    return np.asarray(np.clip(audio, -1, 1) * 32767, np.int16)
