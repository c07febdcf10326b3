"""Speaks a turn with its hesitations: the whole sentence is synthesised, cut at the end of a word and pulled apart there, so
that the voice before a pause goes on as it does in the middle of a sentence. Room noise lies under all of it.

    turn (`endpoint_turns.Turn`) + a speaker of `stt_speak`  →  mono 16 kHz audio, when speech ends, when each word does
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.train.endpoint_turns import Part, Turn
from models.train.not_speech import coloured_noise
from models.train.stt_speak import HELD_OUT_VARIANTS, Speaker, through_opus, trained_variants

RATE_HZ = 16_000
SAMPLES_PER_MS = 16
LEAD_MS, TAIL_MS = 400.0, 3000.0
_SEARCH_MS, _FADE_MS = 25.0, 20.0
_BELOW_PEAK_DB = 30.0
_OPUS_SHARE = 0.2
_TUNING_VOICES = 12
_ACCENTS = ("en-us", "en-us", "en-us", "en", "en-us-nyc", "en-gb-scotland", "en-029")
_OTHER_ACCENTS = ("en-us", "en-us", "en-gb-x-rp")

Audio = NDArray[np.int16]
Hesitant: TypeAlias = Callable[[random.Random, NDArray[np.float32]], NDArray[np.float32]]
"""What is said before a pause, mono 16 kHz → the same as people say it who stop there."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn as sound."""

    audio: Audio
    """Mono 16 kHz from `LEAD_MS` before the first word to `TAIL_MS` after the last."""
    end_ms: float
    """When the caller has finished: the end of the last 10 ms that are near the turn's loudest, in the audio."""
    word_ends_ms: tuple[float, ...]
    """When each unit of the turn has been said."""


def voices(part: Part) -> list[str]:
    """The espeak-ng voices of a part: none is in two."""
    known = trained_variants()
    if part == "held_out":
        return [f"{accent}+{variant}" for accent in _OTHER_ACCENTS for variant in HELD_OUT_VARIANTS]
    mine = known[::6][:_TUNING_VOICES] if part == "tune" else [v for v in known if v not in known[::6][:_TUNING_VOICES]]
    plain = list(_ACCENTS) * 3 if part == "fit" else []
    return plain + [f"{accent}+{variant}" for accent in _ACCENTS for variant in mine]


def speak_turn(rng: random.Random, turn: Turn, speak: Speaker, hesitant: Hesitant | None = None) -> SpokenTurn | None:
    """The turn's sound, what stands before each pause made `hesitant`; None when the speaker does not know when its words were
    said."""
    clip = speak(rng, turn.units)
    spans = clip.label.spans
    if len(spans) != len(turn.units):
        return None
    voiced = clip.audio.astype(np.float32) / np.float32(32768)
    cuts = [_quietest(voiced, spans[pause.after_unit][1]) for pause in turn.pauses]
    parts: list[NDArray[np.float32]] = [_silence(LEAD_MS)]
    longer_ms: list[float] = []
    start = 0
    for cut, pause in zip(cuts, turn.pauses, strict=True):
        part = hesitant(rng, voiced[start:cut]) if hesitant else voiced[start:cut]
        parts += [_faded(part), _silence(pause.length_ms)]
        longer_ms.append(pause.length_ms + (len(part) - (cut - start)) / SAMPLES_PER_MS)
        start = cut
    parts += [_faded(voiced[start:]), _silence(TAIL_MS)]
    spoken = np.concatenate(parts)
    spoken *= np.float32(10 ** (rng.uniform(-12, -2) / 20) / (np.abs(spoken).max() + 1e-9))
    end_ms = _last_loud(spoken) / SAMPLES_PER_MS
    audio = np.clip((spoken + _noise(rng, spoken)) * 32767, -32767, 32767).astype(np.int16)
    if rng.random() < _OPUS_SHARE:
        audio = through_opus(rng, audio)
    ends = [end for _, end in spans]
    for cut, pause in zip(cuts, turn.pauses, strict=True):
        ends[pause.after_unit] = cut
    return SpokenTurn(audio, end_ms, tuple(_moved_ms(longer_ms, cuts, end) for end in ends))


def _silence(length_ms: float) -> NDArray[np.float32]:
    return np.zeros(int(length_ms * SAMPLES_PER_MS), np.float32)


def _moved_ms(longer_ms: list[float], cuts: list[int], sample: int) -> float:
    """Where a sample of the sentence stands in the turn, which is longer by so much at each cut."""
    before = sum(longer for longer, cut in zip(longer_ms, cuts, strict=True) if cut < sample)
    return LEAD_MS + sample / SAMPLES_PER_MS + before


def _quietest(voiced: NDArray[np.float32], sample: int) -> int:
    """The quietest 5 ms around the end of a word: that is where it can be cut without a click."""
    step = int(5 * SAMPLES_PER_MS)
    reach = int(_SEARCH_MS * SAMPLES_PER_MS)
    starts = range(max(0, sample - reach), min(len(voiced) - step, sample + reach), step // 2)
    return min(starts, key=lambda at: float(np.square(voiced[at : at + step]).sum()), default=sample) + step // 2


def _faded(part: NDArray[np.float32]) -> NDArray[np.float32]:
    fade = min(int(_FADE_MS * SAMPLES_PER_MS), len(part) // 2)
    ramp = np.linspace(0, 1, fade, dtype=np.float32)
    part = part.copy()
    part[:fade] *= ramp
    part[len(part) - fade :] *= ramp[::-1]
    return part


def _last_loud(spoken: NDArray[np.float32]) -> int:
    blocks = spoken[: len(spoken) // 160 * 160].reshape(-1, 160)
    levels = np.sqrt(np.square(blocks).mean(axis=1))
    return (int(np.flatnonzero(levels > levels.max() * 10 ** (-_BELOW_PEAK_DB / 20))[-1]) + 1) * 160


def _noise(rng: random.Random, spoken: NDArray[np.float32]) -> NDArray[np.float32]:
    """Half of the rooms are quiet, half have noise 18 to 40 dB below the speech."""
    loud = spoken[np.abs(spoken) > 0.01]
    below_db = rng.uniform(18, 40) if rng.random() < 0.5 else rng.uniform(55, 80)
    level = float(np.sqrt(np.square(loud).mean())) * 10 ** (-below_db / 20)
    fast_samples = 1 << len(spoken).bit_length()
    made = coloured_noise(np.random.default_rng(rng.getrandbits(32)), fast_samples, rng.choice((0.0, 0.5, 1.0)))
    return made[: len(spoken)] * np.float32(level)
