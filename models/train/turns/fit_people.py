"""Fits the endpointer's weights to people's turns, and writes them with the manners.

    python -m models.train.turns.fit_people --out voiceagent/turn_taking/endpoint_weights.py

A logistic regression whose weights are drawn towards what is known without these turns: the judges' towards the plain sum of
their log-odds, the habit's towards one half, those of the words towards what the synthetic turns say. There are few recordings,
so a weight moves only where they insist. The curve that is printed, of chances of models that have not seen the recording,
helps to choose the manners' risks."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from models.train.turns.draw import SEED
from models.train.turns.fit import L2, PAUSE_MS, Fitted, Floats, HoldRule, design, fitted, judged_evidence, solved
from models.train.turns.hear import Evidence, read_meanings
from models.train.turns.people import FITTED, people
from models.train.turns.rows import Row, rows
from models.train.turns.sweep import Pauses, area, rule_score
from voiceagent.turn_taking.endpointing import Habit, Manner, features, most_for
from voiceagent.turn_taking.languages.en import ENGLISH

OF_WORDS = ("mark_question", "whole_turn", "unfinished", "asks")
"""What the words tell beside the judges, chosen by leaving one recording out (`models/endpointer.md`)."""
NAMES = ("bias", "ear", "meaning_long", "habit", *OF_WORDS)
PLAIN_SUM = {"ear": 0.25, "meaning_long": 0.25, "habit": 0.5}
"""What the weights are drawn towards: a quarter of each judge's log-odds, and half of those of the caller's habit."""
FREE = {"bias": 1e-6}
PULL = FREE | {"ear": 20000.0, "meaning_long": 20000.0, "habit": 100.0} | dict.fromkeys(OF_WORDS, 8.0)
"""How strongly, in pauses of one unit."""
OF_SYNTHETIC = ("pitch_moved", "pitch_moved_squared", "value_size")
"""What tells an end on synthetic turns beside all that, and does not mislead on people: how the pitch moved, and how long a value
is. How much was said is left out: it is a habit of each set."""
SYNTHETIC_SHARE = 0.5
"""How much of that they weigh: as much as costs nothing on people."""
EAR_MISSING = 1.1
"""Set, not fitted: on people nothing tells an end without the ear. A sentence then waits for about 0.8 s, if balanced."""
IN_A_CALL = 2.0
"""The weight of a pause in a call between people; one in a request to a machine counts 1."""
SPEAKERS_FOLDS = 8
HESITATION_MS, SPREAD = 600.0, 0.8
"""Hesitations that are long enough to matter: their median, and the deviation of the logarithm."""
MANNERS: Mapping[Manner, tuple[float, float]] = {"brisk": (0.2, 1600.0), "balanced": (0.11, 2100.0), "patient": (0.055, 2600.0)}
"""The risk and the longest delay of each manner. `models/endpointer.md` says how they were chosen."""
SHORTEST_MS, SPECULATE_FROM = 200.0, 0.5
LONGEST_MS = (1600.0, 2100.0, 2600.0)
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
        known[call] = habit.after_pause(ends_turn=row.is_end)
    return seen


async def heard_people(folders: Sequence[str] = FITTED, most: int | None = None) -> tuple[list[Evidence], list[Row]]:
    """People's turns, at most so many of a set, and their pauses. Raises ModelError."""
    turns = await people(folders, most)
    return turns, with_habits(rows(turns, read_meanings()))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known without people's turns."""

    towards: Mapping[str, float]
    """What the weights are drawn towards."""
    synthetic: Sequence[Row]
    """Pauses of synthetic turns."""


def known_before() -> Known:
    """The judges' plain sum, and the synthetic turns: what the words weigh on them beside both judges. Raises ModelError."""
    turns = [*judged_evidence("fit", "wide", SEED), *judged_evidence("brief", "wide", SEED)]
    synthetic = [row for row in rows(turns, read_meanings()) if _learned(row)]
    model = fitted(synthetic, NAMES[1:], {("ear", "meaning"): 1.0})
    return Known(PLAIN_SUM | {name: model.weights[name] for name in OF_WORDS}, synthetic)


def fitted_to_people(found: Sequence[Row], known: Known) -> Fitted:
    """The weights: those of `NAMES` by people's turns, those of `OF_SYNTHETIC` by synthetic ones, the bias by people's."""
    learned = [row for row in found if _learned(row)]
    importance = np.array([IN_A_CALL if row.turn.kind == "turns" else 1.0 for row in learned])
    towards = {name: known.towards.get(name, 0.0) for name in NAMES}
    weights = towards | _moved(learned, importance, towards, {name: PULL[name] for name in NAMES})
    beside = _moved(known.synthetic, np.ones(len(known.synthetic)), weights, dict.fromkeys(OF_SYNTHETIC, L2) | FREE)
    weights |= {name: SYNTHETIC_SHARE * beside[name] for name in OF_SYNTHETIC}
    weights |= _moved(learned, importance, weights, FREE)
    rounded = {name: round(weight, 3) for name, weight in weights.items()}
    return Fitted({**rounded, "ear_missing": EAR_MISSING})


def _moved(
    learned: Sequence[Row], importance: Floats, weights: Mapping[str, float], pull: Mapping[str, float]
) -> dict[str, float]:
    """The weights of `pull`'s names after a fit to these pauses that begins at `weights` and is drawn back there by `pull`."""
    seen = [features(row.evidence, ENGLISH) for row in learned]
    wanted = np.array([float(row.is_end) for row in learned])
    score = design(seen, list(weights)) @ np.array(list(weights.values()))
    steps = solved(design(seen, list(pull)), wanted, importance, np.array(list(pull.values())), score)
    return {name: weights.get(name, 0.0) + float(step) for name, step in zip(pull, steps, strict=True)}


def _learned(row: Row) -> bool:
    """Whether the pause is long enough to be learned from, and its words are known."""
    return row.hearing.pause.lasted_ms >= PAUSE_MS and bool(row.evidence.words)


def cross_validated(found: Sequence[Row], known: Known) -> Floats:
    """The chances that models give which have not seen the pause's recording or speaker."""
    folds = np.array([_fold(row.turn) for row in found])
    chances = np.zeros(len(found))
    for fold in sorted(set(folds)):
        mine = [row for row in found if _fold(row.turn) == fold]
        chances[folds == fold] = fitted_to_people(_others(found, fold), known).chances(mine)
    return chances


def _others(found: Sequence[Row], fold: str) -> list[Row]:
    return [row for row in found if _fold(row.turn) != fold]


def _fold(turn: Evidence) -> str:
    """A call is a fold; other speakers share some."""
    digest = hashlib.md5(turn.voice.encode(), usedforsecurity=False).digest()
    return turn.voice if turn.kind == "turns" else str(digest[0] % SPEAKERS_FOLDS)


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Calls of ten turns, put together of turns in calls and of requests to machines, so that a third of the turns have pauses
    inside, as on the telephone. The length of each pause inside is drawn anew, near the real one."""

    pauses: Pauses
    chances: Floats
    longest_ms: Floats
    """The longest delay behind the words of each pause; infinite for most."""


CALLS, TURNS_A_CALL, LENGTH_DEVIATION = 150, 10, 0.3
CALLERS = (2.0, 3.0)
"""Of the beta distribution from which each call's share of turns out of calls is drawn."""


def calls_of(turns: Sequence[Evidence], found: Sequence[Row], known: Known) -> Calls:
    """Such calls, judged by models that have not seen the recording, with the caller's habit as it grows."""
    models = {fold: fitted_to_people(_others(found, fold), known) for fold in {_fold(turn) for turn in turns}}
    pauses: defaultdict[int, list[Row]] = defaultdict(list)
    for row in found:
        pauses[row.number].append(row)
    rng = np.random.default_rng(SEED)
    kinds = [[number for number, turn in enumerate(turns) if (turn.kind == "turns") is wanted] for wanted in (False, True)]
    heard: list[tuple[int, float, float, bool, float, float]] = []
    for call in range(CALLS):
        share, habit = rng.beta(*CALLERS), Habit()
        for turn in range(TURNS_A_CALL):
            for row in pauses[int(rng.choice(kinds[int(rng.random() < share)]))]:
                pause = row.hearing.pause
                heard_so = replace(row, evidence=replace(row.evidence, habit=habit))
                chance = float(models[_fold(row.turn)].chances([heard_so])[0])
                lasted_ms = pause.lasted_ms * (1.0 if pause.is_end else float(np.exp(rng.normal(0.0, LENGTH_DEVIATION))))
                began_ms = pause.at_ms - pause.silence_ms - row.turn.end_ms
                most_ms = most_for(row.evidence, ENGLISH, shortest_ms=SHORTEST_MS, longest_ms=np.inf)
                heard.append((call * TURNS_A_CALL + turn, began_ms, lasted_ms, pause.is_end, chance, most_ms))
                habit = habit.after_pause(ends_turn=pause.is_end)
    turn_of, began, lasted, is_end, chances, most = (np.array(column) for column in zip(*heard, strict=True))
    return Calls(Pauses(turn_of, began, lasted, is_end, CALLS * TURNS_A_CALL), chances, most)


def curve(calls: Calls) -> Iterator[str]:
    """What each risk and longest delay does to these calls, a line each."""
    yield "risk  longest  cut off  median / mean / p90 of the others"
    for risk, longest_ms in itertools.product(RISKS, LONGEST_MS):
        silences = HoldRule(risk, HESITATION_MS, SPREAD).silences_ms(calls.chances, 1 - risk)
        one = rule_score(calls.pauses, np.minimum(np.clip(silences, SHORTEST_MS, longest_ms), calls.longest_ms))
        latencies = f"{one.median_ms:5.0f} / {one.mean_ms:5.0f} / {one.p90_ms:5.0f} ms"
        yield f"{risk:.2f}  {longest_ms:7.0f}  {100 * one.cut_off:5.1f} %  {latencies}"


def areas(turns: Sequence[Evidence], found: Sequence[Row], chances: Floats) -> Iterator[str]:
    """The area under the curve on each set and on all."""
    ends, long = (np.array(column) for column in zip(*((row.is_end, _learned(row)) for row in found), strict=True))
    for folder in (*FITTED, "all"):
        mine = long & np.array([folder in (row.turn.kind, "all") for row in found])
        of = len([turn for turn in turns if folder in (turn.kind, "all")])
        yield f"{folder}: {of} turns, {int((mine & ~ends).sum())} pauses inside, area {area(chances[mine], ends[mine]):.3f}"


def as_python(weights: Mapping[str, float], learned_from: int, validated: float) -> str:
    """The weights and the manners as a module."""
    lines = [
        f'"""The endpointer\'s weights and manners, fitted to {learned_from} of people\'s turns by `turns/fit_people.py`.',
        f'Of recordings that were left out the area under the ROC curve is {validated:.3f} (`models/endpointer.md`)."""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "TRAINED: Mapping[str, float] = {",
        *(f'    "{name}": {weight},' for name, weight in weights.items()),
        "}",
        '"""Weights of `endpointing.features`."""',
        f"HESITATION_MS, SPREAD, SPECULATE_FROM = {HESITATION_MS}, {SPREAD}, {SPECULATE_FROM}",
        "MANNERS: Mapping[str, tuple[float, float, float]] = {",
        *(f'    "{name}": ({risk}, {SHORTEST_MS}, {longest}),' for name, (risk, longest) in MANNERS.items()),
        "}",
        '"""The fields of each `EndpointingManner`."""',
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the Python file to write")
    parser.add_argument("--most", type=int, help="hear only so many recordings of a set")
    options = parser.parse_args()
    turns, found = asyncio.run(heard_people(FITTED, options.most))
    known = known_before()
    model, chances = fitted_to_people(found, known), cross_validated(found, known)
    ends, long = (np.array(column) for column in zip(*((row.is_end, _learned(row)) for row in found), strict=True))
    text = as_python(model.weights, len(turns), area(chances[long], ends[long]))
    options.out.write_text(text, encoding="utf-8")
    print(known.towards, model.weights, *areas(turns, found, chances), *curve(calls_of(turns, found, known)), sep="\n")


if __name__ == "__main__":
    main()
