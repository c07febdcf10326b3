"""The voices of the turns: the published Piper voice joe and espeak-ng's, each at three speeds, on a wide band or a telephone.

Piper tells no word times, but its graph knows each phoneme's length: a copy of the voice hands it out, and words are laid on the
phonemizer's own ("for a" is one of them) by their length in phonemes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import soxr
from numpy.typing import NDArray

from models.train.endpoint_speak import SpokenTurn, speak_turn
from models.train.endpoint_turns import Turn
from models.train.espeak import Espeak
from models.train.stt_corpus import SAMPLE_RATE_HZ, Clip, Label
from models.train.stt_speak import HELD_OUT_VARIANTS, Speaker, Units, spoken_words, trained_variants, unit_spans
from models.train.telephone import telephone_band
from models.train.turns.lengthen import lengthened
from models.train.turns.patterns import Part

Line: TypeAlias = Literal["wide", "telephone"]
WORDS_PER_MINUTE = {"slow": 140, "usual": 175, "fast": 215}
LENGTH_SCALES = {"slow": 1.2, "usual": 1.0, "fast": 0.85}
JOE_SHARE = 0.5
NO_SOUND = " ^$.,?!;:"
"""Phonemes of Piper that are silent."""
_ACCENTS = ("en-us", "en-us", "en", "en-us-nyc", "en-gb-scotland", "en-029")
_OTHER_ACCENTS = ("en-us", "en-gb-x-rp")


@dataclass(frozen=True, slots=True)
class Voice:
    """Who speaks, and how fast."""

    name: str
    """`joe`, or an espeak-ng voice."""
    speed: str


def draw_voice(rng: random.Random, part: Part) -> Voice:
    """Half of the turns are joe's; the espeak-ng variants that are held out are in no other part."""
    speed = rng.choice(list(WORDS_PER_MINUTE))
    if rng.random() < JOE_SHARE:
        return Voice("joe", speed)
    held_out = part == "held_out"
    accent = rng.choice(_OTHER_ACCENTS if held_out else _ACCENTS)
    return Voice(f"{accent}+{rng.choice(HELD_OUT_VARIANTS if held_out else trained_variants())}", speed)


class Voices:
    """The synthesisers, loaded once."""

    def __init__(self, joe: Path, cache: Path) -> None:
        """`joe`: the Piper voice's ONNX file, its JSON beside it; a copy that tells times is kept in `cache`."""
        from piper import PiperVoice

        self._joe = PiperVoice.load(with_alignments(joe, cache))

    def spoken(self, rng: random.Random, turn: Turn, voice: Voice, line: Line) -> SpokenTurn | None:
        """The turn's sound; None where the words' times are not known."""
        speaker = self._joe_speaker(voice.speed) if voice.name == "joe" else _espeak_speaker(voice)
        spoken = speak_turn(rng, turn, speaker, lengthened)
        return spoken if spoken is None or line == "wide" else replace(spoken, audio=by_telephone(spoken.audio))

    def _joe_speaker(self, speed: str) -> Speaker:
        from piper import SynthesisConfig

        def speak(rng: random.Random, units: Units) -> Clip:
            text, owners = spoken_words(units)
            config = SynthesisConfig(
                length_scale=LENGTH_SCALES[speed] * rng.uniform(0.95, 1.05), noise_scale=rng.uniform(0.5, 0.8)
            )
            chunks = list(self._joe.synthesize(text, config, include_alignments=True))
            audio, edges = _edges(chunks)
            words = _laid_on([self._phonemes(word) for word in text.split()], edges)
            scale = SAMPLE_RATE_HZ / chunks[0].sample_rate
            spans = _spans(words, owners, scale)
            heard = np.asarray(soxr.resample(audio, chunks[0].sample_rate, SAMPLE_RATE_HZ), dtype=np.int16)
            return Clip(heard, Label(units, "joe", spans, ()))

        return speak

    def _phonemes(self, word: str) -> int:
        return sum(len(sentence) for sentence in self._joe.phonemize(word.strip(".,?!")))


def by_telephone(audio: NDArray[np.int16]) -> NDArray[np.int16]:
    """Mono 16 kHz as a telephone carries it: 300 to 3400 Hz, 8 kHz, µ-law; same length."""
    heard = telephone_band(audio.astype(np.float32) / np.float32(32768))
    return np.clip(np.pad(heard, (0, len(audio) - len(heard))) * 32767, -32767, 32767).astype(np.int16)


def with_alignments(voice: Path, cache: Path) -> Path:
    """A copy of a Piper voice whose graph also gives how long each phoneme lasts."""
    import onnx
    from piper.patch_voice_with_alignment import add_alignment_output

    digest = hashlib.sha256(voice.read_bytes()).hexdigest()[:12]
    path = cache / f"aligned-{digest}.onnx"
    if not path.exists():
        model = onnx.load(str(voice))
        add_alignment_output(model)
        cache.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        onnx.save(model, str(part))
        path.with_suffix(".onnx.json").write_bytes(voice.with_suffix(".onnx.json").read_bytes())
        part.replace(path)
    return path


@dataclass(frozen=True, slots=True)
class _Edge:
    start: int
    end: int
    phonemes: int


def _edges(chunks: Sequence[Any]) -> tuple[NDArray[np.int16], list[_Edge]]:
    """The audio, and the phonemizer's words in it, without the marks behind them."""
    edges: list[_Edge] = []
    at = 0
    for chunk in chunks:
        start, end, count = at, at, 0
        for aligned in [*(chunk.phoneme_alignments or []), None]:
            phoneme = aligned.phoneme if aligned else " "
            if phoneme == " " and count:
                edges.append(_Edge(start, end, count))
                count = 0
            at += aligned.num_samples if aligned else 0
            if phoneme not in NO_SOUND:
                end, count = at, count + 1
            elif not count:
                start = at
    return np.concatenate([chunk.audio_int16_array for chunk in chunks]), edges


def _laid_on(words: list[int], edges: list[_Edge]) -> list[tuple[int, int]]:
    """When each word is said: the cheapest way to lay words of these lengths on the phonemizer's, of which one may hold three, or
    a word three of them; where there is none, by their lengths alone."""
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {(0, 0): (0.0, [])}
    for i in range(len(words) + 1):
        for j in range(len(edges) + 1):
            if (i, j) not in best:
                continue
            cost, said = best[i, j]
            for take, over in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3)):
                if i + take > len(words) or j + over > len(edges):
                    continue
                held = edges[j : j + over]
                more = abs(sum(words[i : i + take]) - sum(edge.phonemes for edge in held)) + 0.5 * (take + over - 2)
                key = (i + take, j + over)
                if key not in best or best[key][0] > cost + more:
                    best[key] = (cost + more, [*said, *_shared(words[i : i + take], held[0].start, held[-1].end)])
    found = best.get((len(words), len(edges)))
    return found[1] if found else _shared(words, edges[0].start, edges[-1].end)


def _shared(words: list[int], start: int, end: int) -> list[tuple[int, int]]:
    """One stretch of sound among the words that it holds, by their lengths."""
    marks = np.cumsum([0, *words]) / max(1, sum(words)) * (end - start) + start
    return [(int(marks[k]), int(marks[k + 1])) for k in range(len(words))]


def _spans(words: list[tuple[int, int]], owners: list[int], scale: float) -> tuple[tuple[int, int], ...]:
    spans: dict[int, tuple[int, int]] = {}
    for (start, end), owner in zip(words, owners, strict=True):
        first = spans[owner][0] if owner in spans else int(start * scale)
        spans[owner] = (first, int(end * scale))
    return tuple(spans[owner] for owner in sorted(spans))


def _espeak_speaker(voice: Voice) -> Speaker:
    def speak(rng: random.Random, units: Units) -> Clip:
        text, owners = spoken_words(units)
        speech = Espeak().say(
            text,
            voice.name,
            words_per_minute=WORDS_PER_MINUTE[voice.speed],
            pitch=rng.randint(25, 75),
            pitch_range=rng.randint(30, 80),
        )
        audio = np.clip(speech.resampled(SAMPLE_RATE_HZ) * 32768, -32767, 32767).astype(np.int16)
        spans = unit_spans(speech, text, owners, SAMPLE_RATE_HZ / speech.sample_rate_hz)
        return Clip(audio, Label(units, voice.name, spans, ()))

    return speak
