"""Fits the endpointer's weights to people's turns, and writes them with the manners.

    python -m models.train.turns.fit_people --out voiceagent/turn_taking/endpoint_weights.py

A logistic regression whose weights are drawn towards what is known without these turns: the judges' towards the plain sum of their
log-odds, the habit's towards 1, those of the words towards what the synthetic turns say. There are few recordings, so a weight
moves only where they insist. The manners' risks were chosen from the curve that is printed: chances of models that have not seen
the recording."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.train.turns.draw import SEED
from models.train.turns.fit import PAUSE_MS, Fitted, Floats, HoldRule, design, fitted, judged_evidence, solved
from models.train.turns.hear import Evidence, read_meanings
from models.train.turns.people import FITTED, people
from models.train.turns.rows import Row, pauses_of, rows
from models.train.turns.sweep import area, best, outcomes_of, rule_score
from voiceagent.turn_taking.endpoint_features import features
from voiceagent.turn_taking.endpointing_manner import Manner
from voiceagent.turn_taking.habit import Habit
from voiceagent.turn_taking.languages.en import ENGLISH

OF_WORDS = ("mark_question", "whole_turn", "unfinished", "asks", "asked_yes_or_no")
"""What the words tell beside the judges, chosen by leaving one recording out (`models/endpointer.md`)."""
NAMES = ("bias", "ear", "meaning", "habit", *OF_WORDS)
PLAIN_SUM = {"ear": 0.25, "meaning": 0.25, "habit": 1.0}
"""What the weights are drawn towards: all of a caller's habit, and a quarter of each judge's log-odds."""
PULL = {"bias": 1e-6, "ear": 400.0, "meaning": 400.0, "habit": 20.0} | dict.fromkeys(OF_WORDS, 8.0)
"""How strongly, in pauses of one unit."""
EAR_MISSING = 1.1
"""Set, not fitted. Without the ear nothing tells an end on people: then a sentence waits for about 0.8 s, in the balanced manner."""
IN_A_CALL = 2.0
"""The weight of a pause in a call between people; one in a request to a machine counts 1."""
SPEAKERS_FOLDS = 8
HESITATION_MS, SPREAD = 600.0, 0.8
"""Hesitations that are long enough to matter: their median, and the deviation of the logarithm."""
MANNERS: Mapping[Manner, tuple[float, float]] = {"brisk": (0.12, 1600.0), "balanced": (0.09, 2100.0), "patient": (0.055, 2600.0)}
"""The risk and the longest delay of each manner, chosen from the curve that `main` prints."""
SHORTEST_MS, LONGEST_MS, SPECULATE_FROM = 200.0, 2100.0, 0.5
RISKS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.14, 0.16, 0.2, 0.25, 0.3)


def with_habits(found: Sequence[Row], folders: Sequence[str] = ("turns", "turns_measure_only")) -> list[Row]:
    """The rows, in order, with the habit that a caller has shown in the call before each pause. Other recordings are calls of one
    turn."""
    known: defaultdict[tuple[str, str], Habit] = defaultdict(Habit)
    seen = []
    for row in found:
        call = (row.turn.voice, "" if row.turn.kind in folders else row.turn.pattern)
        habit = known[call]
        seen.append(replace(row, evidence=replace(row.evidence, habit=habit)))
        known[call] = Habit(habit.went_on + (not row.is_end), habit.ended + row.is_end)
    return seen


def heard_people(folders: Sequence[str] = FITTED) -> tuple[list[Evidence], list[Row]]:
    """People's turns and their pauses. Raises ModelError."""
    turns = asyncio.run(people(folders))
    return turns, with_habits(rows(turns, read_meanings()))


def prior() -> dict[str, float]:
    """What the weights are drawn towards: for the words, what they weigh on synthetic turns beside both judges. Raises ModelError."""
    turns = [*judged_evidence("fit", "wide", SEED), *judged_evidence("brief", "wide", SEED)]
    model = fitted(rows(turns, read_meanings()), NAMES[1:], {("ear", "meaning"): 1.0})
    return PLAIN_SUM | {name: model.weights[name] for name in OF_WORDS}


def fitted_to_people(found: Sequence[Row], towards: Mapping[str, float]) -> Fitted:
    """The weights."""
    learned = [row for row in found if row.hearing.pause.lasted_ms >= PAUSE_MS and row.evidence.words]
    inputs = design([features(row.evidence, ENGLISH) for row in learned], NAMES)
    wanted = np.array([float(row.is_end) for row in learned])
    importance = np.array([IN_A_CALL if row.turn.kind == "turns" else 1.0 for row in learned])
    known = np.array([towards.get(name, 0.0) for name in NAMES])
    moved = solved(inputs, wanted, importance, np.array([PULL[name] for name in NAMES]), inputs @ known)
    weights = {name: round(float(weight), 3) for name, weight in zip(NAMES, known + moved, strict=True)}
    return Fitted({**weights, "ear_missing": EAR_MISSING})


def cross_validated(found: Sequence[Row], towards: Mapping[str, float]) -> Floats:
    """The chances that models give which have not seen the pause's recording or speaker."""
    folds = np.array([_fold(row.turn) for row in found])
    chances = np.zeros(len(found))
    for fold in sorted(set(folds)):
        mine = folds == fold
        model = fitted_to_people([row for row, own in zip(found, mine, strict=True) if not own], towards)
        chances[mine] = model.chances([row for row, own in zip(found, mine, strict=True) if own])
    return chances


def _fold(turn: Evidence) -> str:
    """A call is a fold; other speakers share some."""
    digest = hashlib.md5(turn.voice.encode(), usedforsecurity=False).digest()
    return turn.voice if turn.kind == "turns" else str(digest[0] % SPEAKERS_FOLDS)


def curve(turns: Sequence[Evidence], found: Sequence[Row], chances: Floats) -> Iterator[str]:
    """What each risk does to a part of the turns, a line each."""
    pauses = pauses_of(found, turns)
    for risk in RISKS:
        delays = np.clip(HoldRule(risk, HESITATION_MS, SPREAD).silences_ms(chances, 1 - risk), SHORTEST_MS, LONGEST_MS)
        one = rule_score(pauses, delays)
        latencies = f"{one.median_ms:5.0f} / {one.mean_ms:5.0f} / {one.p90_ms:5.0f} ms"
        yield f"  {risk:.2f}: {100 * one.cut_off:4.1f} % cut off, {latencies}"


def report(turns: Sequence[Evidence], found: Sequence[Row], chances: Floats) -> Iterator[str]:
    """The figures of a part of the turns."""
    pauses = pauses_of(found, turns)
    long = pauses.lasted_ms >= PAUSE_MS
    swept = best(outcomes_of(pauses, chances))
    at_600, inside = swept.cut_off_at[600.0], int((long & ~pauses.is_end).sum())
    reached = area(chances[long], pauses.is_end[long])
    yield (
        f"{len(turns)} turns, {inside} pauses inside: area {reached:.3f}, cut off at 600 ms {100 * at_600.value:.1f} % "
        f"({100 * at_600.low:.1f}–{100 * at_600.high:.1f}), latency at 5 % {swept.latency_ms.value:.0f} ms"
    )
    yield from curve(turns, found, chances)


def as_python(weights: Mapping[str, float], learned_from: int, validated: float) -> str:
    """The weights and the manners as a module."""
    lines = [
        f'"""Weights and manners of the endpointer, fitted to {learned_from} turns of people by `models/train/turns/fit_people.py`.',
        f'Of recordings that were left out the area under the ROC curve is {validated:.3f} (`models/endpointer.md`)."""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "from voiceagent.turn_taking.endpointing_manner import EndpointingManner, Manner",
        "",
        "TRAINED: Mapping[str, float] = {",
        *(f'    "{name}": {weight},' for name, weight in weights.items()),
        "}",
        '"""Weights of `endpoint_features.features`."""',
        f"HESITATION_MS, SPREAD, SPECULATE_FROM = {HESITATION_MS}, {SPREAD}, {SPECULATE_FROM}",
        "MANNERS: Mapping[Manner, EndpointingManner] = {",
        *(f'    "{name}": EndpointingManner({risk}, {SHORTEST_MS}, {longest}),' for name, (risk, longest) in MANNERS.items()),
        "}",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the Python file to write")
    options = parser.parse_args()
    turns, found = heard_people()
    towards = prior()
    model, chances = fitted_to_people(found, towards), cross_validated(found, towards)
    pauses = pauses_of(found, turns)
    long = pauses.lasted_ms >= PAUSE_MS
    text = as_python(model.weights, len(turns), area(chances[long], pauses.is_end[long]))
    options.out.write_text(text, encoding="utf-8")
    print(towards, model.weights, sep="\n")
    for folder in (*FITTED, ""):
        mine = [turn for turn in turns if folder in ("", turn.kind)]
        kept = [folder in ("", row.turn.kind) for row in found]
        print(folder or "all", *report(mine, _of(mine, found, kept), chances[kept]), sep="\n")


def _of(turns: Sequence[Evidence], found: Sequence[Row], kept: Sequence[bool]) -> list[Row]:
    """Some rows, numbered by the turns that are left."""
    numbers = {id(turn): number for number, turn in enumerate(turns)}
    return [replace(row, number=numbers[id(row.turn)]) for row, own in zip(found, kept, strict=True) if own]


if __name__ == "__main__":
    main()
