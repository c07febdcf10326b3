"""Everyday turns with hesitations, from the held-out part of `models/train/turns`: no pattern and no espeak-ng variant of it is
fitted. Half are spoken by the published Piper voice, half by espeak-ng."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from models.train.turns.hear import CACHE, JOE, drawn_voices
from models.train.turns.speak import Voices
from voiceagent.models.registry import resolve

SEED = 20261123
"""Not that of `bench endpointing`: these are other draws of the same patterns."""
HESITANT_MS = 200.0
"""A turn with a silence of that length inside is hesitant."""


@dataclass(frozen=True, slots=True)
class EverydayTurn:
    """One turn, spoken."""

    audio: NDArray[np.int16]
    """Mono 16 kHz; what is heard of the room goes on behind the last word."""
    end_ms: float
    """The end of the caller's speech, in the audio."""
    hesitant: bool
    voice: str


def everyday_turns(count: int) -> list[EverydayTurn]:
    """The first so many of the draw. Raises ModelError where the published voice is not there."""
    voices = Voices(resolve(JOE) / "voice.onnx", CACHE)
    found: list[EverydayTurn] = []
    for number, drawn, voice in islice(drawn_voices("held_out", SEED), count):
        spoken = voices.spoken(random.Random(f"call {SEED} {number}"), drawn.turn, voice, "wide")
        if spoken is None:
            raise RuntimeError(f"no word times: {voice.name}: {drawn.pattern.text}")
        hesitant = any(pause.length_ms >= HESITANT_MS for pause in drawn.turn.pauses)
        found.append(EverydayTurn(spoken.audio, spoken.end_ms, hesitant, voice.name))
    return found
