"""Speaks the training set of the micro Whisper: sentences of the domain and some general English, or turns of a word or
two, in about 70 voices and 8 accents of espeak-ng with varied rate and pitch, or in the bundled Piper voice. One clip in eight
goes through Opus; of short turns every other one begins and ends hard, as a voice detector cuts them.

    python -m models.train.stt_speak --out FOLDER --clips 50000 --seed 1            # espeak-ng
    python -m models.train.stt_speak --out FOLDER --clips 7000 --piper VOICE.onnx   # the bundled voice
    python -m models.train.stt_speak --out FOLDER --clips 30000 --short-turns       # a word or two

Held-out sentences (`domain.is_held_out`) and the variants in `HELD_OUT_VARIANTS` are never spoken here.
"""

from __future__ import annotations

import argparse
import functools
import io
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import soxr

from models.train import domain
from models.train.domain import Unit
from models.train.espeak import Espeak, SynthesisedText, variants
from models.train.general_english import plain_sentence, word_salad
from models.train.short_turns import short_turn
from models.train.stt_corpus import SAMPLE_RATE_HZ, Clip, Label, write_shard

HELD_OUT_VARIANTS = ("f4", "m5", "Alicia", "Michael", "victor", "steph2")
_UNFIT = {"whisper", "whisperf", "croak", "UniRobot", "Demonic", "kaukovalta", "fast", "anikaRobot", "Tweaky", "Storm"}
_ACCENTS = [
    *["en-us"] * 6,
    *["en"] * 2,
    "en-us-nyc",
    "en-gb-scotland",
    "en-gb-x-gbcwmd",
    "en-gb-x-gbclan",
    "en-029",
]
_SHORT_TURN_ACCENTS = [*_ACCENTS, *["en"] * 4]
"""British vowels, of which sentences hear few, decide alone in a "No."."""
_GENERAL_SHARE = 0.1
_OPUS_SHARE = 0.12
_HARD_CUT_SHARE = 0.5
_HARD_CUT_LEVEL = 1 / 30
"""Of the clip's peak."""
_LONGEST_S = 9.0
_SHARD_CLIPS = 1000
Units = tuple[Unit, ...]
Speaker = Callable[[random.Random, Units], Clip]


@functools.cache
def trained_variants() -> list[str]:
    """The espeak-ng variants that may be trained on."""
    kept = [v for v in variants() if v not in _UNFIT and not v.startswith(("klatt", "robosoft"))]
    return [v for v in kept if v not in HELD_OUT_VARIANTS]


def spoken_words(units: Units) -> tuple[str, list[int]]:
    """The text to speak, with the marks that phrase it, and the index of the unit that each of its words belongs to."""
    words: list[str] = []
    owners: list[int] = []
    for index, unit in enumerate(units):
        parts = unit.spoken.split()
        mark = unit.written[len(unit.written.rstrip(".,?!")) :]
        words += [*parts[:-1], parts[-1] + mark]
        owners += [index] * len(parts)
    return " ".join(words), owners


def draw_units(rng: random.Random) -> Units:
    """A sentence that may be trained on."""
    if rng.random() >= _GENERAL_SHARE:
        return domain.train_utterance(rng).units
    while True:
        text = word_salad(rng) if rng.random() < 0.5 else plain_sentence(rng)
        if not any(c.isdigit() for c in text) and not domain.is_held_out(text):
            return tuple(Unit(w, w.strip(".,?!") if w == "I" else w.strip(".,?!").lower()) for w in text.split())


def through_opus(rng: random.Random, audio: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Code and decode with Opus at 8–24 kb/s; same length."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="ogg") as writer:
        stream = writer.add_stream("libopus", rate=SAMPLE_RATE_HZ, layout="mono")
        stream.bit_rate = rng.choice([8000, 12000, 16000, 24000])
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(audio[None]), format="s16", layout="mono")
        frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, 0
        writer.mux([*stream.encode(frame), *stream.encode(None)])
    buffer.seek(0)
    with av.open(buffer, "r") as reader:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE_HZ)
        heard = [part.to_ndarray()[0] for frame in reader.decode(audio=0) for part in resampler.resample(frame)]
    joined = np.concatenate(heard)[: len(audio)]
    return np.pad(joined, (0, len(audio) - len(joined)))


def unit_spans(speech: SynthesisedText, text: str, owners: list[int], scale: float) -> tuple[tuple[int, int], ...]:
    """When each unit is said, from espeak-ng's word events; `scale` takes its samples to ours."""
    offsets = np.cumsum([0, *[len(word) + 1 for word in text.split(" ")]])[:-1]
    speech_end = len(speech.samples)
    for mark in reversed(speech.phonemes):
        if mark.ipa:
            break
        speech_end = mark.start_samples
    starts: list[int | None] = [None] * len(offsets)
    for said in speech.words:
        word = int(np.searchsorted(offsets, said.text_offset, side="right")) - 1
        if starts[word] is None:
            starts[word] = said.start_samples
    following = speech_end
    filled: list[int] = []
    for start in reversed(starts):
        following = following if start is None else start
        filled.append(following)
    filled = [*reversed(filled), speech_end]
    spans: dict[int, tuple[int, int]] = {}
    for word, owner in enumerate(owners):
        first = spans[owner][0] if owner in spans else filled[word]
        spans[owner] = (first, filled[word + 1])
    return tuple((int(spans[i][0] * scale), int(spans[i][1] * scale)) for i in range(len(spans)))


def any_trained_voice(rng: random.Random, accents: Sequence[str] = _ACCENTS) -> str:
    """An accent, mostly with a variant that may be trained on."""
    accent = rng.choice(accents)
    return f"{accent}+{rng.choice(trained_variants())}" if rng.random() > 0.12 else accent


def espeak_speaker(draw_voice: Callable[[random.Random], str] = any_trained_voice) -> Speaker:
    """Speaks each sentence in another voice of espeak-ng, with times of words and phonemes."""
    espeak = Espeak()

    def speak(rng: random.Random, units: Units) -> Clip:
        text, owners = spoken_words(units)
        voice = draw_voice(rng)
        speech = espeak.say(
            text,
            voice,
            words_per_minute=int(rng.triangular(120, 260, 170)),
            pitch=rng.randint(20, 80),
            pitch_range=rng.randint(20, 80),
            word_gap=rng.choice([0, 0, 0, 1, 2]),
        )
        scale = SAMPLE_RATE_HZ / speech.sample_rate_hz
        audio = np.clip(speech.resampled(SAMPLE_RATE_HZ) * 32768, -32767, 32767).astype(np.int16)
        phonemes = tuple((int(m.start_samples * scale), m.ipa.strip("ˈˌ")) for m in speech.phonemes)
        return Clip(audio, Label(units, voice, unit_spans(speech, text, owners, scale), phonemes))

    return speak


def piper_speaker(model: Path) -> Speaker:
    """Speaks in a Piper voice with varied speed and noise; times of units where piper's words match ours."""
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(model)

    def speak(rng: random.Random, units: Units) -> Clip:
        text, owners = spoken_words(units)
        config = SynthesisConfig(length_scale=rng.uniform(0.8, 1.25), noise_scale=rng.uniform(0.3, 1.0))
        chunks = list(voice.synthesize(text, config, include_alignments=True))
        edges: list[tuple[int, int]] = []
        at = start = 0
        for chunk in chunks:
            for aligned in chunk.phoneme_alignments or []:
                if aligned.phoneme in " ^":
                    if at > start and aligned.phoneme == " ":
                        edges.append((start, at))
                    start = at + aligned.num_samples
                at += aligned.num_samples
            edges.append((start, at))
            start = at
        audio = np.concatenate([chunk.audio_int16_array for chunk in chunks])
        rate_hz = chunks[0].sample_rate
        scale = SAMPLE_RATE_HZ / rate_hz
        spans: tuple[tuple[int, int], ...] = ()
        if len(edges) == len(owners):
            first = [owners.index(i) for i in range(len(units))]
            last = [len(owners) - 1 - owners[::-1].index(i) for i in range(len(units))]
            spans = tuple((int(edges[a][0] * scale), int(edges[b][1] * scale)) for a, b in zip(first, last, strict=True))
        if rate_hz != SAMPLE_RATE_HZ:
            audio = np.asarray(soxr.resample(audio, rate_hz, SAMPLE_RATE_HZ), dtype=np.int16)
        return Clip(audio, Label(units, "piper", spans, ()))

    return speak


def cut_hard(clip: Clip) -> Clip:
    """The clip without the silence and the fading sound at its ends."""
    level = np.abs(clip.audio.astype(np.int32))
    loud = np.flatnonzero(level > level.max() * _HARD_CUT_LEVEL)
    first, end = int(loud[0]), int(loud[-1]) + 1
    spans = tuple((max(0, start - first), min(end, stop) - first) for start, stop in clip.label.spans)
    phonemes = tuple((max(0, min(end, start) - first), name) for start, name in clip.label.phonemes)
    return Clip(clip.audio[first:end], replace(clip.label, spans=spans, phonemes=phonemes))


def draw_clip(rng: random.Random, draw: Callable[[random.Random], Units], speak: Speaker, hard_cut_share: float) -> Clip:
    """One clip of at most `_LONGEST_S`."""
    while True:
        clip = speak(rng, draw(rng))
        if SAMPLE_RATE_HZ // 10 < len(clip.audio) < _LONGEST_S * SAMPLE_RATE_HZ and clip.audio.any():
            break
    if rng.random() < hard_cut_share:
        clip = cut_hard(clip)
    if rng.random() < _OPUS_SHARE:
        clip = Clip(through_opus(rng, clip.audio), clip.label)
    return clip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the shards")
    parser.add_argument("--clips", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--piper", type=Path, help="speak with this Piper voice instead of espeak-ng")
    parser.add_argument("--short-turns", action="store_true", help="speak turns of a word or two instead of sentences")
    parser.add_argument("--tiny", action="store_true", help="a few clips only, to see that the recipe runs")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    draw, draw_voice, hard_cut_share = draw_units, any_trained_voice, 0.0
    if options.short_turns:
        draw = functools.partial(short_turn, hums=options.piper is None)
        draw_voice = functools.partial(any_trained_voice, accents=_SHORT_TURN_ACCENTS)
        hard_cut_share = _HARD_CUT_SHARE
    speak = piper_speaker(options.piper) if options.piper else espeak_speaker(draw_voice)
    kind = "piper" if options.piper else "espeak"
    left, shard, began = 24 if options.tiny else options.clips, 0, time.monotonic()
    while left > 0:
        clips = [draw_clip(rng, draw, speak, hard_cut_share) for _ in range(min(left, _SHARD_CLIPS))]
        write_shard(options.out / f"{kind}-{options.seed}-{shard:03d}", clips)
        left, shard = left - len(clips), shard + 1
        print(f"{kind}: {shard} shards, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
