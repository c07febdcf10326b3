"""What is heard over an agent's speech, spoken by espeak-ng or generated: backchannels and noises, which take no floor,
commands and sentences, which do. For choosing how the agent behaves: no voice, backchannel or command of it is in what
`bench/floor.py` measures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.train import not_speech
from models.train.espeak import Espeak
from models.train.stt_speak import trained_variants

RATE_HZ = 16_000
HISS_DB = -65.0
Pcm = NDArray[np.int16]

TEXTS: dict[str, tuple[str, ...]] = {
    "backchannel": (
        "Yup.", "Cool.", "Nice.", "Great.", "Of course.", "Fine.", "Aha.", "Really.", "Perfect.", "Mm.", "Wow.",
        "All right.",
    ),
    "command": (
        "Help.", "Repeat that.", "Louder, please.", "Speak up.", "Slower.", "Start over.", "Skip it.", "Not now.",
        "Just a second.", "Say again.",
    ),
    "sentence": (
        "Our train leaves at noon.", "Any chance of a window seat?", "Book the later flight.", "Has my parcel arrived?",
        "It must be after lunch.", "Nobody told me that.", "Send it to my office.", "They closed the road.",
        "Whose number is this?", "You got the name wrong.", "Let us try another date.", "How far is the airport?",
        "Fifty six.", "At a quarter past ten.", "Then take the smaller room.", "Make that three nights.",
        "When will it be ready?", "She needs a wheelchair.", "Turn the heating down.", "What does that include?",
    ),
    "begins like listening": (
        "Great. Make it four, then.", "Fine. What about parking?", "Cool. Where do I pay?", "Nice. But Sunday is better.",
        "Perfect. Send it to my office.", "Of course. But it must be quiet.",
    ),
}  # fmt: skip
TAKES_FLOOR = {"command", "sentence", "begins like listening"}
NOISES = ("white", "pink", "brown", "hum", "clicks")


@dataclass(frozen=True, slots=True)
class Sound:
    """One sound."""

    kind: str
    name: str
    takes_floor: bool
    pcm: Pcm
    """Mono 16 kHz without silence around it, shape (samples,)."""


def sounds(seed: int, spoken: int, noises: int) -> Iterator[Sound]:
    """So many spoken sounds of each kind, and so many of each noise."""
    rng = random.Random(f"tune {seed}")
    for kind in not_speech.SUDDEN_KINDS:
        for _ in range(noises):
            burst = not_speech.sudden_sound(kind, rng.randrange(2**31), RATE_HZ, peak=rng.uniform(0.1, 0.7))
            yield Sound(kind, "", False, with_hiss(burst, rng))
    for kind in NOISES:
        for _ in range(noises):
            level_db = rng.uniform(-45, -18)
            noise = not_speech.not_speech(kind, rng.randrange(2**31), rng.uniform(1.0, 4.0), level_db, RATE_HZ)
            yield Sound("noise", f"{kind} {level_db:.0f} dB", False, with_hiss(noise, rng))
    espeak, variants = Espeak(), trained_variants()[::5]
    for kind, texts in TEXTS.items():
        for number in range(spoken):
            text, voice = texts[number % len(texts)], f"en-us+{rng.choice(variants)}"
            speed, pitch, pitch_range = int(rng.triangular(130, 230, 175)), rng.randint(25, 75), rng.randint(25, 75)
            speech = espeak.say(text, voice, words_per_minute=speed, pitch=pitch, pitch_range=pitch_range)
            yield Sound(kind, f"{text} {voice}", kind in TAKES_FLOOR, trimmed(speech.resampled(RATE_HZ), rng))


def trimmed(speech: NDArray[np.float32], rng: random.Random) -> Pcm:
    """Speech without the silence around it, as loud as it happens to be."""
    loudest = np.abs(speech).max()
    loud = np.flatnonzero(np.abs(speech) > loudest / 30)
    return with_hiss(speech[loud[0] : loud[-1] + 1] / loudest * rng.uniform(0.15, 0.6), rng)


def with_hiss(sound: NDArray[np.float32], rng: random.Random) -> Pcm:
    """The sound on a line that is not quite silent."""
    hiss = np.random.default_rng(rng.randrange(2**31)).standard_normal(len(sound)) * 10 ** (HISS_DB / 20)
    return (np.clip(sound + hiss, -1, 1) * 32767).astype(np.int16)
