"""Fits the endpointer's weights to heard turns and tunes how completeness becomes a hold, then writes both as Python.

    python -m models.train.endpoint_fit --fit A.jsonl B.jsonl --tune C.jsonl --out voiceagent/turn_taking/endpoint_weights.py

The weights are a logistic regression (L2, Newton's method). Every pause is a row twice: with the words that the bundled
Whisper wrote, and, at a smaller weight, with what was said as other recognisers write it, so that nothing hangs on one
model's habits. The holds are those with the shortest mean latency among the ones that cut off few of the tuning turns.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.train.endpoint_hear import HeardPause, HeardTurn, read_turns
from models.train.endpoint_score import Score, score
from voiceagent.turn_taking.endpoint_features import features
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.pause import PauseEvidence

PAUSE_MS = 300.0
"""Silences from here on are learned from: shorter ones stand inside words and at commas, and endanger few holds."""
SHORTEST_MS = 200.0
"""Words hold silences of 150 ms; a hold of 160 ms cuts off one turn in a hundred more."""
LONGEST_MS = (2100.0,)
"""Tried too: 1500 and 1800, which cut off more at the same median."""
RISK = (0.05, 0.055, 0.06, 0.065, 0.07, 0.075, 0.08, 0.085, 0.09, 0.1, 0.12, 0.14, 0.16)
HESITATION_MS = (500.0, 550.0, 600.0, 625.0, 650.0, 700.0, 775.0, 850.0, 1000.0)
GUESS_FROM = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
MOST_CUT_OFF, MOST_MEDIAN_MS = 0.04, 250.0
"""What the tuning turns must keep; of patterns that neither step has seen, more are cut off. With a median of 310 ms the mean
would be 20 ms shorter, but half of the turns would be answered later than people answer."""
MOST_WASTED = 0.5
"""Guesses a turn that may be thrown away."""
L2 = 2.0
OTHER_WRITING = 0.4
"""Weight of a row with other recognisers' writing."""
Array = NDArray[np.float64]


def as_written(rng: random.Random, said: str, is_end: bool) -> str:
    """What was said as some recogniser may write it: sentences lose their mark, fragments get one."""
    bare = said.rstrip(".,?!")
    if is_end:
        return said if rng.random() < 0.8 else bare
    return bare + rng.choices(["", ",", ".", "..."], [55, 10, 20, 15])[0]


def rows(turns: Iterable[HeardTurn], rng: random.Random) -> list[tuple[dict[str, float], bool, float]]:
    """Features, whether the turn was over, and a weight, of every pause that a rule could take for the end."""
    found = []
    for turn in turns:
        for pause in turn.pauses:
            if pause.lasted_ms < PAUSE_MS:
                continue
            evidence = pause.evidence(turn.asked)
            if pause.words:
                found.append((features(evidence), pause.is_end, 1.0))
            if pause.said:
                other = as_written(rng, pause.said, pause.is_end)
                rewritten = PauseEvidence(other, turn.asked, evidence.voiced_ms, evidence.prosody)
                found.append((features(rewritten), pause.is_end, OTHER_WRITING))
    return found


def fitted(examples: list[tuple[dict[str, float], bool, float]]) -> dict[str, float]:
    """The weights; every feature but the bias is drawn towards zero."""
    names = ["bias", *sorted({name for found, _, _ in examples for name in found} - {"bias"})]
    inputs = np.array([[found.get(name, 0.0) for name in names] for found, _, _ in examples])
    wanted = np.array([float(is_end) for _, is_end, _ in examples])
    importance = np.array([weight for _, _, weight in examples])
    drawn = np.diag([1e-6] + [L2] * (len(names) - 1))
    weights: Array = np.zeros(len(names))
    for _ in range(50):
        likely = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (importance * (likely - wanted)) + drawn @ weights
        curvature = (inputs * (importance * likely * (1 - likely))[:, None]).T @ inputs + drawn
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-6:
            break
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def area(completeness: Array, is_end: NDArray[np.bool_]) -> float:
    """Of the ROC curve: how often an end is held for likelier than a pause inside a turn."""
    ranks = np.empty(len(completeness))
    ranks[np.argsort(completeness)] = np.arange(len(completeness))
    ends = int(is_end.sum())
    return float((ranks[is_end].sum() - ends * (ends - 1) / 2) / max(1, ends * (len(is_end) - ends)))


def completeness_of(model: EndpointModel, asked: str, pause: HeardPause) -> float:
    """0 without words: then nothing ends the turn but the longest hold."""
    return model.completeness(pause.evidence(asked)) if pause.words else 0.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """A model, its longest hold, and what it does to the tuning turns."""

    model: EndpointModel
    longest_ms: float
    score: Score


def tuned(turns: list[HeardTurn], weights: Mapping[str, float]) -> Tuned:
    """The holds that cut off few enough of the turns and are fastest in the mean; the fewest cut off where none does."""
    known = {id(p): completeness_of(EndpointModel(weights), t.asked, p) for t in turns for p in t.pauses}

    def judged(model: EndpointModel, longest_ms: float) -> Tuned:
        found = score(turns, lambda _, pause: model.holds_for(known[id(pause)], SHORTEST_MS, longest_ms))
        return Tuned(model, longest_ms, found)

    settings = itertools.product(RISK, HESITATION_MS, LONGEST_MS)
    tried = [judged(EndpointModel(weights, risk, usual_ms), longest_ms) for risk, usual_ms, longest_ms in settings]
    fast = [one for one in tried if one.score.median_ms <= MOST_MEDIAN_MS] or tried
    good = [one for one in fast if one.score.cut_off <= MOST_CUT_OFF]
    best = min(good, key=lambda one: one.score.mean_ms) if good else min(fast, key=lambda one: one.score.cut_off)
    for guess_from in GUESS_FROM:
        best = judged(replace(best.model, guess_from=guess_from), best.longest_ms)
        if best.score.wasted_a_turn <= MOST_WASTED:
            break
    return best


def as_python(best: Tuned, provenance: str) -> str:
    """The weights as a module."""
    model = best.model
    lines = [
        f'"""{provenance}"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "TRAINED: Mapping[str, float] = {",
        *(f'    "{name}": {weight},' for name, weight in model.weights.items()),
        "}",
        '"""Weights of `endpointing.features`."""',
        f"RISK, HESITATION_MS, GUESS_FROM = {model.risk}, {model.hesitation_ms}, {model.guess_from}",
        f'"""Tuned with holds of {SHORTEST_MS:.0f} to {best.longest_ms:.0f} ms."""',
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=Path, nargs="+", required=True, help="turns to fit the weights to (endpoint_hear)")
    parser.add_argument("--tune", type=Path, required=True, help="turns to tune the holds on")
    parser.add_argument("--out", type=Path, required=True, help="the Python file to write")
    options = parser.parse_args()
    turns = [turn for path in options.fit for turn in read_turns(path)]
    tuning = read_turns(options.tune)
    weights = fitted(rows(turns, random.Random(1)))
    best = tuned(tuning, weights)
    judged = [(t.asked, p) for t in tuning for p in t.pauses if p.lasted_ms >= PAUSE_MS]
    roc = area(
        np.array([completeness_of(best.model, asked, pause) for asked, pause in judged]),
        np.array([pause.is_end for _, pause in judged]),
    )
    provenance = (
        f"The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from {len(turns):,} generated turns and\n"
        f"tuned on {len(tuning):,} others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is\n"
        f"{roc:.3f}, {100 * best.score.cut_off:.1f} % are cut off, and half of the others are committed within "
        f"{best.score.median_ms:.0f} ms."
    )
    options.out.write_text(as_python(best, provenance), encoding="utf-8")
    print(f"{options.out}: {provenance}")
    print(f"holds of {SHORTEST_MS:.0f} to {best.longest_ms:.0f} ms: {best.score}")


if __name__ == "__main__":
    main()
