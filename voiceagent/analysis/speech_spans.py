"""Finds the speech in one side of a recording. Silero says which sounds are speech, the level says where they begin and end, to a
millisecond: so a reply that is moved is found moved by as much, wherever Silero's windows lie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.vad.detector import WINDOW_SAMPLES, speech_probabilities

STEP_SAMPLES = HEARD_HZ // 1000
SMOOTH_STEPS = 5
"""The level is a mean over so many milliseconds."""
FLOOR_EVERY_S, FLOOR_OVER_S, FLOOR_PERCENT = 1, 15, 5
"""The noise is the level that this share of the seconds around lies below."""
ABOVE_FLOOR_DB, BELOW_SPEECH_DB = 10.0, 30.0
"""A sound is so far above the noise, and at most so far below the side's loud speech: an echo of the other side is further."""
QUIETEST_DBFS = -70.0
JOIN_S, SHORTEST_S = 0.2, 0.04
SPEECH, PERHAPS = 0.5, 0.35
"""Silero's probability that makes a sound speech, and the one from which a window may belong to it."""
LATE_S = 0.2
"""Silero finds the first and the last of a word at most this late or early."""


@dataclass(frozen=True, slots=True)
class SpeechSpan:
    """One stretch of speech; seconds from the recording's start. Pauses inside are shorter than `JOIN_S`."""

    start_s: float
    end_s: float


def speech_spans(pcm: NDArray[np.int16]) -> tuple[list[SpeechSpan], bool]:
    """The speech in mono 16 kHz, shape (samples,), and True if there is any. A side without speech has its sounds instead."""
    level = _level_db(pcm)
    floor = _floor_db(level)
    loud = level[level > np.maximum(floor + ABOVE_FLOOR_DB, QUIETEST_DBFS)]
    if not len(loud):
        return [], False
    threshold = np.maximum(np.maximum(floor + ABOVE_FLOOR_DB, QUIETEST_DBFS), np.percentile(loud, 95) - BELOW_SPEECH_DB)
    active = level >= threshold
    sounds = _runs(active, JOIN_S)
    speech = [span for first, end in sounds if (span := _speech_within(pcm, active, first, end))]
    spans = [SpeechSpan(first / 1000, end / 1000) for first, end in speech or sounds]
    return spans, bool(speech)


def _level_db(pcm: NDArray[np.int16]) -> NDArray[np.float32]:
    """The level of each millisecond, relative to full scale."""
    steps = pcm[: len(pcm) // STEP_SAMPLES * STEP_SAMPLES].astype(np.float32).reshape(-1, STEP_SAMPLES) / 32_768
    power = np.convolve(np.square(steps).mean(axis=1), np.ones(SMOOTH_STEPS) / SMOOTH_STEPS, "same")
    level: NDArray[np.float32] = (10 * np.log10(np.maximum(power, 1e-12))).astype(np.float32)
    return level


def _floor_db(level: NDArray[np.float32]) -> NDArray[np.float32]:
    """The noise at each millisecond."""
    half = FLOOR_OVER_S * 500
    middles = np.arange(0, len(level), FLOOR_EVERY_S * 1000)
    floors = [np.percentile(level[max(0, middle - half) : middle + half], FLOOR_PERCENT) for middle in middles]
    if not floors:
        return level
    found: NDArray[np.float32] = np.interp(np.arange(len(level)), middles, floors).astype(np.float32)
    return found


def _runs(active: NDArray[np.bool_], join_s: float) -> list[tuple[int, int]]:
    """The runs of True, first and end; runs that are closer than `join_s` are one, a click is none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], active, [False]))))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return []
    apart = np.flatnonzero(starts[1:] - ends[:-1] >= join_s * 1000) + 1
    bounds = [0, *apart.tolist(), len(starts)]
    runs = [(int(starts[first]), int(ends[end - 1])) for first, end in pairwise(bounds)]
    return [(first, end) for first, end in runs if active[first:end].sum() >= SHORTEST_S * 1000]


def _speech_within(pcm: NDArray[np.int16], active: NDArray[np.bool_], first: int, end: int) -> tuple[int, int] | None:
    """The part of a sound that is speech, in milliseconds; None if none is."""
    late, window = int(LATE_S * 1000), WINDOW_SAMPLES // STEP_SAMPLES
    begin = max(0, first - late)
    probabilities = speech_probabilities(pcm[begin * STEP_SAMPLES : (end + late) * STEP_SAMPLES])
    if not len(probabilities) or probabilities.max() < SPEECH:
        return None
    likely = np.flatnonzero(probabilities >= PERHAPS)
    earliest = max(first, begin + int(likely[0]) * window - late)
    latest = min(end, begin + int(likely[-1] + 1) * window + late)
    inside = np.flatnonzero(active[earliest:latest])
    return (earliest + int(inside[0]), earliest + int(inside[-1]) + 1) if len(inside) else None
