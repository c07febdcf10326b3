"""Fits what says by sound alone, some 100 to 300 ms into speech over the agent's, whether it takes the floor
(`voiceagent/audio/interruption.py`): a logistic regression, written as a Python file. Two minutes on one core:

    python -m models.train.overlap_fit --out voiceagent/audio/interruption_weights.py
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.virtual_call import over_speech
from models.train.overlap_sounds import Part, Sound, sounds
from voiceagent.audio.interruption import LEAD_MS, LONGEST_MS, features
from voiceagent.turn_taking.manners import STILL_SPEAKING_MS
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset

SAMPLES_PER_MS, FRAME_SAMPLES = 16, 320
LOOKS_MS = (80, 120, 160, 200, 240, 280)
"""After the onset, while speech lasts."""
JUDGED_MS = 200
RIDGE = 0.3
SPOKEN, NOISES = 150, 30
TUNE_SPOKEN, TUNE_NOISES = 80, 10
ROUNDS = 12

Table = NDArray[np.float64]


@dataclass(slots=True)
class Looks:
    """What was heard at each look."""

    features: Table
    takes_floor: Table
    """1 or 0."""
    after_ms: Table
    spoken: NDArray[np.bool_]
    """Whether it was speech."""


def looks(heard: Iterable[Sound]) -> Looks:
    """All sounds in which the speech detector finds an onset, as a call hears them."""
    rows = [(found, sound.takes_floor, at, sound.kind) for sound in heard for at, found in _looks(sound)]
    found, takes_floor, after_ms, kinds = zip(*rows, strict=True)
    spoken = np.isin(kinds, ["backchannel", "command", "sentence", "begins like listening"])
    return Looks(np.array(found, float), np.array(takes_floor, float), np.array(after_ms, float), spoken)


def _looks(sound: Sound) -> Iterable[tuple[float, NDArray[np.float32]]]:
    audio = over_speech(sound.pcm, 600.0, 600.0)
    detector, onset, left = SpeechDetector(DetectorOptions()), None, list(LOOKS_MS)
    for start in range(0, len(audio) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        end = start + FRAME_SAMPLES
        progress = detector.feed(audio[start:end], end / SAMPLES_PER_MS)
        if isinstance(progress, SpeechOnset):
            onset = int((progress.onset_ms - LEAD_MS) * SAMPLES_PER_MS)
        if onset is None or progress is None or progress.silence_ms >= STILL_SPEAKING_MS:
            continue
        since_ms = (end - onset) / SAMPLES_PER_MS - LEAD_MS
        while left and left[0] <= since_ms:
            at = left.pop(0)
            found = features(audio[max(0, onset) : end]) if since_ms - at < FRAME_SAMPLES / SAMPLES_PER_MS else None
            if found is not None:
                yield at, found
        if since_ms > LONGEST_MS:
            return


def fit(data: Looks) -> tuple[Table, float]:
    """Ridge logistic regression by Newton's method, both outcomes of equal weight: weights and bias for raw features."""
    mean, deviation = data.features.mean(axis=0), data.features.std(axis=0) + 1e-6
    columns = np.hstack([(data.features - mean) / deviation, np.ones((len(data.features), 1))])
    wanted = data.takes_floor
    share = wanted.mean()
    counts = np.where(wanted > 0, 0.5 / share, 0.5 / (1 - share))
    ridge = np.eye(columns.shape[1]) * RIDGE * len(columns)
    ridge[-1, -1] = 1e-6
    weights = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        predicted = 1 / (1 + np.exp(-columns @ weights))
        slope = columns.T @ (counts * (predicted - wanted)) + ridge @ weights
        curve = (columns * (counts * predicted * (1 - predicted))[:, None]).T @ columns + ridge
        weights -= np.linalg.solve(curve, slope)
    raw = weights[:-1] / deviation
    return raw, float(weights[-1] - raw @ mean)


def area(scores: Table, wanted: Table) -> float:
    """Under the ROC curve."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    yes = wanted > 0
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum()))


def main() -> None:
    """Fit, look at the tuning part, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of the sounds: to see that the recipe runs")
    options = parser.parse_args()

    def some(part: Part, seed: int, spoken: int, noises: int) -> Looks:
        return looks(sounds(part, seed, max(2, int(spoken * options.share)), max(1, int(noises * options.share))))

    fitted, tuning = some("fit", 1, SPOKEN, NOISES), some("tune", 0, TUNE_SPOKEN, TUNE_NOISES)
    weights, bias = fit(fitted)
    judged = tuning.spoken & (tuning.after_ms == JUDGED_MS)
    tuned = area(tuning.features[judged] @ weights + bias, tuning.takes_floor[judged])
    text = textwrap.fill(", ".join(f"{weight:.4g}" for weight in weights), 120, initial_indent="    ", subsequent_indent="    ")
    note = (
        f"Weights of `interruption.chance`, written by `models/train/overlap_fit.py` from {len(fitted.features)} looks at sounds "
        f"in three languages. On other words in other voices, {JUDGED_MS} ms after the onset, the area under the ROC curve is "
        f"{tuned:.2f}."
    )
    lines = [
        textwrap.fill(f'"""{note}"""', 120),
        "\nfrom __future__ import annotations\n",
        f"BIAS = {bias:.4f}",
        f"WEIGHTS: tuple[float, ...] = (\n{text},\n)  # fmt: skip",
    ]
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"area {tuned:.3f} on {int(judged.sum())} looks of the tuning part")


if __name__ == "__main__":
    main()
