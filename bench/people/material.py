"""The speech of people in the benchmark: their turns, and their short utterances in two bands. Recordings of people go in; audio
with the marks that it is timed by comes out, in calls of one speaker each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.phone.band import by_line
from tests.people.people import RATE_HZ, Recording, recordings

TURNS_A_CALL = 10
TURN_SETS = ("turns", "turns_measure_only")
"""The second one may be measured with and not be shipped: it is used where $VOICEAGENT_PEOPLE has it."""
SHORT_SETS = ("utterances", "digits_cc_by_sa", "backchannels")
SHORT_WORDS, SHORT_S = 2, 2.0
LEAST_TAIL_S = 1.5
"""Least time for which the line is heard behind the last word."""
BROWSER, TELEPHONE = "browser", "telephone"
NOISE_LEVEL = 8
"""The peak of the faint noise (int16) that lies over each recording: no line is digitally silent."""


@dataclass(frozen=True, slots=True, eq=False)
class Spoken:
    """One turn, to be said."""

    name: str
    set_name: str
    speaker: str
    audio: NDArray[np.int16]
    """Mono, `RATE_HZ`, with faint noise from the first sample to the last."""
    start_ms: float
    """The beginning of the speech, in the audio."""
    end_ms: float
    """The end of the caller's speech."""
    pauses_s: tuple[float, ...]
    """The silences of 200 ms or more inside."""
    band: str = BROWSER


def turns(count: int | None = None) -> list[Spoken]:
    """Turns of people, in the order in which they were said: of the committed set, and of the other one where it is. `count`:
    only the first so many."""
    found: list[Spoken] = []
    for name in TURN_SETS:
        try:
            found += [spoken(each, name) for each in recordings(name)]
        except FileNotFoundError:
            print(f"without the set {name}: $VOICEAGENT_PEOPLE names no folder that has it", flush=True)
    return found[:count]


def short_utterances(count: int | None = None) -> list[Spoken]:
    """English utterances of one or two known words and answers such as "okay", in the band of a browser, then of a telephone.
    `count`: only the first so many in each."""
    chosen = [(each, name) for name in SHORT_SETS for each in recordings(name) if _is_short(each)]
    return [spoken(each, name, band) for band in (BROWSER, TELEPHONE) for each, name in chosen[:count]]


def _is_short(recording: Recording) -> bool:
    words = len(recording.text.split())
    is_known = recording.text_is_certain or recording.kind == "short answer or backchannel"
    is_brief = words in range(1, SHORT_WORDS + 1) and recording.end_s - recording.start_s <= SHORT_S
    return recording.language == "en" and is_known and is_brief


def spoken(recording: Recording, set_name: str, band: str = BROWSER) -> Spoken:
    """A recording as it is said in that band."""
    audio = recording.audio()
    missing = math.ceil((recording.end_s + LEAST_TAIL_S) * RATE_HZ) - audio.size
    audio = np.concatenate((audio, np.zeros(max(0, missing), np.int16)))
    if band == TELEPHONE:
        audio = by_line(audio)
    noise = np.random.default_rng(len(audio)).integers(-NOISE_LEVEL, NOISE_LEVEL + 1, len(audio))
    return Spoken(
        name=recording.path.stem,
        set_name=set_name,
        speaker=recording.speaker,
        audio=np.clip(audio + noise, -32768, 32767).astype(np.int16),
        start_ms=recording.start_s * 1000.0,
        end_ms=recording.end_s * 1000.0,
        pauses_s=tuple(round(pause.end_s - pause.start_s, 3) for pause in recording.pauses),
        band=band,
    )


def calls(said: Iterable[Spoken]) -> list[Sequence[Spoken]]:
    """The turns in calls of one speaker each, of `TURNS_A_CALL` at most and of about the same length."""
    found: list[Sequence[Spoken]] = []
    for _, group in itertools.groupby(said, lambda each: (each.set_name, each.speaker)):
        found += even(list(group))
    return found


def even(said: Sequence[Spoken]) -> list[Sequence[Spoken]]:
    """As few calls as hold all these turns, of about the same length."""
    count = math.ceil(len(said) / TURNS_A_CALL)
    edges = [round(index * len(said) / count) for index in range(count + 1)]
    return [said[first:last] for first, last in itertools.pairwise(edges)]
