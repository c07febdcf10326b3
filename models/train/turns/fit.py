"""Fits a model that combines the judges with what the words and the voice say, and tunes how its chance becomes an endpointing
delay: the weights of an agent with a language of its own, and what the words weigh for everybody (`fit_people`).

    python -m models.train.turns.fit FIT.jsonl TUNE.jsonl --out examples/demo/endpointing.json

A logistic regression (L2, Newton's method) over every pause that a rule could take for the end. Each is a row four times: as it
was, and without one or both judges, so that the model knows what to do where one is late or missing.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from models.train.endpoint_hear import HeardTurn, read_turns
from models.train.turns.hear import Evidence, JudgedHearing, ask_meaning, read_evidence
from models.train.turns.patterns import Part
from models.train.turns.rows import Meanings, Row, only, pauses_of, rows
from models.train.turns.speak import Line
from models.train.turns.sweep import Pauses, RuleScore, area, rule_score
from voiceagent.turn_taking.endpointing import JUDGES, features
from voiceagent.turn_taking.language import Language
from voiceagent.turn_taking.languages.en import ENGLISH

PAUSE_MS = 250.0
"""Silences from here on are learned from."""
L2 = 1.0
WITH_JUDGES: Mapping[tuple[str, ...], float] = {("ear", "meaning"): 1.0, ("ear",): 0.25, ("meaning",): 0.25, (): 0.25}
"""Which judges a row keeps, and its weight."""
CHOSEN = (
    *("ear", "ear_words", "ear_missing", "meaning", "meaning_missing"),
    *("pitch_fall", "pitch_moved", "pitch_moved_squared", "long", "words"),
    *("mark_sentence", "mark_question", "mark_open", "unfinished", "value", "value_size"),
    *("asked", "asked_short", "asked_words", "asked_yes_or_no", "asks", "whole_turn"),
)
"""By cross-validation over `fit` and `tune`. What was tried and bought nothing beside the judges: each class of the last word
apart, the fall of the loudness, whether there is a pitch, how many sentences there are (`models/endpointer.md`)."""
FOLDS = 8
SHORTEST_MS, LONGEST_MS = 200.0, 2100.0
"""The endpointing delays that `TurnSettings` allows by default."""
RISKS = (0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4)
HESITATIONS_MS = (400.0, 500.0, 600.0, 700.0, 850.0, 1000.0)
SPREADS = (0.6, 0.8, 1.0)
MOST_MEDIAN_MS = 300.0
SPECULATE_FROM = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
MOST_WASTED = 0.5
"""Speculative replies a turn that may be thrown away, because the caller went on."""
Floats = NDArray[np.float64]


def design(found: Sequence[Mapping[str, float]], names: Sequence[str]) -> Floats:
    """Features as a matrix."""
    return np.array([[one.get(name, 0.0) for name in names] for one in found])


def solved(inputs: Floats, wanted: Floats, importance: Floats, drawn: Floats, known: Floats | float = 0.0) -> Floats:
    """The weights. `drawn` says how strongly each is drawn towards zero; `known` are log-odds that are there already."""
    drawn = np.diag(drawn)
    weights = np.zeros(inputs.shape[1])
    for _ in range(60):
        likely = chance_of(inputs @ weights + known)
        gradient = inputs.T @ (importance * (likely - wanted)) + drawn @ weights
        curvature = (inputs * (importance * likely * (1 - likely))[:, None]).T @ inputs + drawn
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-7:
            break
    return weights


def chance_of(score: Floats) -> Floats:
    """Log-odds as probabilities, 0 to 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -30, 30))))


@dataclass(frozen=True, slots=True)
class Fitted:
    """The model."""

    weights: Mapping[str, float]

    def chances(self, found: Sequence[Row], language: Language = ENGLISH, kept: Iterable[str] = JUDGES) -> Floats:
        """That each pause is the end, where only these judges have spoken; 0 without words, as in a call."""
        names = list(self.weights)
        seen = [features(only(row.evidence, kept), language) for row in found]
        chances = chance_of(design(seen, names) @ np.array([self.weights[name] for name in names]))
        return np.where([bool(row.evidence.words) for row in found], chances, 0.0)


def fitted(found: Sequence[Row], chosen: Sequence[str], with_judges: Mapping[tuple[str, ...], float] = WITH_JUDGES) -> Fitted:
    """The weights of the chosen features and the bias."""
    names = ["bias", *chosen]
    seen, wanted, importance = _learned_from(found, with_judges)
    drawn = np.array([1e-6, *(L2 for _ in chosen)])
    return Fitted(_rounded(names, solved(design(seen, names), wanted, importance, drawn)))


def _rounded(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def _learned_from(
    found: Sequence[Row], with_judges: Mapping[tuple[str, ...], float]
) -> tuple[list[dict[str, float]], Floats, Floats]:
    """What is learned from: the features, whether each pause was the end, and its weight."""
    learned = [row for row in found if row.hearing.pause.lasted_ms >= PAUSE_MS and row.evidence.words]
    seen = [features(only(row.evidence, kept), ENGLISH) for kept in with_judges for row in learned]
    wanted = np.tile([float(row.is_end) for row in learned], len(with_judges))
    return seen, wanted, np.repeat(list(with_judges.values()), len(learned))


def cross_validated(
    found: Sequence[Row],
    chosen: Sequence[str],
    with_judges: Mapping[tuple[str, ...], float] = WITH_JUDGES,
    kept: Iterable[str] = JUDGES,
) -> Floats:
    """The chances that a model gives which has not seen the row's pattern."""
    folds = np.array([_fold(row.turn.pattern) for row in found])
    chances = np.zeros(len(found))
    for fold in range(FOLDS):
        model = fitted([row for row, own in zip(found, folds, strict=True) if own != fold], chosen, with_judges)
        mine = folds == fold
        chances[mine] = model.chances([row for row, own in zip(found, mine, strict=True) if own], kept=kept)
    return chances


def _fold(pattern: str) -> int:
    return hashlib.md5(pattern.encode(), usedforsecurity=False).digest()[1] % FOLDS


@dataclass(frozen=True, slots=True)
class HoldRule:
    """How a chance becomes an endpointing delay (`endpointing.EndpointModel`)."""

    risk: float
    hesitation_ms: float
    spread: float

    def delays_ms(self, chances: Floats) -> Floats:
        """The silence after which the chance that the caller goes on is down to `risk`."""
        return np.clip(self.silences_ms(chances, 1 - self.risk), SHORTEST_MS, LONGEST_MS)

    def silences_ms(self, chances: Floats, wanted: float) -> Floats:
        """The silence after which the chance that the caller has finished is up to `wanted`."""
        lasting = chances * (1 - wanted) / np.maximum(1e-9, (1 - chances) * wanted)
        quantile = np.array([NormalDist().inv_cdf(1 - min(1 - 1e-9, max(1e-9, share))) for share in lasting])
        return np.where(lasting >= 1, 0.0, self.hesitation_ms * np.exp(self.spread * quantile))


def tuned(pauses: Pauses, chances: Floats) -> tuple[HoldRule, RuleScore]:
    """The rule with a median of at most `MOST_MEDIAN_MS` at which a turn more cut off in a hundred would buy the least."""
    tried = [(rule, rule_score(pauses, rule.delays_ms(chances))) for rule in _rules()]
    good = [one for one in tried if one[1].median_ms <= MOST_MEDIAN_MS] or tried
    return min(good, key=lambda one: one[1].mean_ms + MS_A_CUT * one[1].cut_off)


MS_A_CUT = 4000.0
"""What a turn cut off is worth in ms of all turns' mean latency: one in a hundred, 40 ms."""


def _rules() -> Iterator[HoldRule]:
    for risk, hesitation_ms, spread in itertools.product(RISKS, HESITATIONS_MS, SPREADS):
        yield HoldRule(risk, hesitation_ms, spread)


def judged_evidence(part: Part, line: Line, seed: int) -> list[Evidence]:
    """Evidence whose words the language model has judged."""
    ask_meaning(part, line, seed)
    return read_evidence(part, line, seed)


def speculate_from(pauses: Pauses, chances: Floats, rule: HoldRule) -> float:
    """The smallest chance at which answers may be begun, with `MOST_WASTED` a turn thrown away."""
    goes_on = ~pauses.is_end & (rule.delays_ms(chances) > pauses.lasted_ms)
    for level in SPECULATE_FROM:
        begun = goes_on & (rule.silences_ms(chances, level) <= pauses.lasted_ms)
        if begun.sum() <= MOST_WASTED * pauses.turns:
            return level
    return SPECULATE_FROM[-1]


def demo_turns(path: Path) -> list[Evidence]:
    """Turns of the bundled models' domain as `endpoint_hear` writes them; no judge has heard them."""
    return [
        Evidence("demo", "demo", turn.said, "", "", "wide", turn.asked, turn.said, turn.end_ms, _unjudged(turn))
        for turn in read_turns(path)
    ]


def _unjudged(turn: HeardTurn) -> tuple[JudgedHearing, ...]:
    return tuple(JudgedHearing(pause, None) for pause in turn.pauses)


@dataclass(frozen=True, slots=True)
class Made:
    """What is written, and what it does to the turns that it was tuned on."""

    model: Fitted
    rule: HoldRule
    speculate_from: float
    score: RuleScore
    area: float


def made(fit_turns: Sequence[Evidence], tune_turns: Sequence[Evidence], known: Meanings) -> Made:
    """Weights of the one part, delays of the other."""
    model, tuning = fitted(rows(fit_turns, known), CHOSEN), rows(tune_turns, known)
    rule, _ = tuned(pauses_of(tuning, tune_turns), model.chances(tuning))
    return _scored(model, rule, tuning, tune_turns)


def _scored(model: Fitted, rule: HoldRule, tuning: Sequence[Row], tune_turns: Sequence[Evidence]) -> Made:
    pauses, chances = pauses_of(tuning, tune_turns), model.chances(tuning)
    long = pauses.lasted_ms >= PAUSE_MS
    found = rule_score(pauses, rule.delays_ms(chances))
    return Made(model, rule, speculate_from(pauses, chances, rule), found, area(chances[long], pauses.is_end[long]))


def as_pack(one: Made) -> str:
    """The arguments of an `EndpointModel` as JSON: what an agent may have of its own."""
    rule = asdict(one.rule)
    return json.dumps({"weights": one.model.weights, **rule, "speculate_from": one.speculate_from}, indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", type=Path, nargs=2, metavar="FILE", help="what to fit to, and what to tune on")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args()
    fit_turns, tune_turns = (demo_turns(path) for path in options.turns)
    one = made(fit_turns, tune_turns, {})
    options.out.write_text(as_pack(one), encoding="utf-8")
    print(options.out, len(fit_turns), len(tune_turns), one.area, one.rule, one.score)


if __name__ == "__main__":
    main()
