"""Endpoints scored like LiveKit's eot-bench (causal scores at silences of 100 ms and more, swept over threshold, delay and
time-out): false cutoffs at a mean latency of 300 and 600 ms, latency at 5 % false cutoffs, with 95 % intervals, on

(d) people's turns: telephone calls that nothing is fitted to, where $VOICEAGENT_PEOPLE has them; and those that are fitted to, by
    cross-validation,
(a) the demo's grammar (`endpointing_demo`),
(b) held-out turns of 21 everyday topics (`models/train/turns`): other patterns, other espeak-ng variants than any that is fitted,
(c) the same turns by telephone.

Ours with and without each judge, each judge alone, and fixed silences; the rule is scored as it runs, too."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench import endpointing_demo
from bench.curve_plot import Curve, plot
from bench.harness import Figure, at_least, at_most
from models.train.turns.fit_people import cross_validated, heard_people, known_before
from models.train.turns.hear import Evidence, evidence, read_meanings
from models.train.turns.people import FITTED, MEASURED
from models.train.turns.rows import Row, only, pauses_of, rows
from models.train.turns.speak import Line
from models.train.turns.sweep import (
    Interval,
    Outcomes,
    Pauses,
    RuleScore,
    area,
    best,
    frontier,
    outcomes_of,
    rule_score,
    silences,
)
from voiceagent.settings.agent import TurnSettings
from voiceagent.turn_taking.endpointing import ENDPOINTING_MANNERS, JUDGES, SURE, EndpointModel, Manner, log_odds, most_for
from voiceagent.turn_taking.languages.en import ENGLISH

TURNS, LEAST_TURNS = 600, 600
CUT_OFF_300, CUT_OFF_600, LATENCY_MS = 9.9, 4.5, 543.0
"""Highest values of (b): the best line that is published, LiveKit v1's on its own data."""


@dataclass(frozen=True, slots=True)
class Goals:
    """The goals of a row; None: no goal."""

    cut_off_300: float | None = None
    """At most, in per cent of the turns at a mean latency of 300 ms; so the next, at 600 ms."""
    cut_off_600: float | None = None
    latency_ms: float | None = None
    """At most, at 5 % of the turns cut off."""
    area: float | None = None
    """At least, under the curve."""


NO_GOALS, PEOPLES = Goals(), Goals(cut_off_600=11.0, latency_ms=1300.0, area=0.85)
TELEPHONE = 1.25
"""On (c), at most so many times that."""
SETS: tuple[tuple[str, Line, float], ...] = (("(b)", "wide", 1.0), ("(c)", "telephone", TELEPHONE))
PAUSE_MS = 250.0
PERCENT = 100.0
OURS, EAR, SILENCE = "voiceagent", "Smart Turn alone", "a fixed silence"
KEPT = {
    OURS: JUDGES,
    "voiceagent without meaning": ("ear",),
    "voiceagent without ear": ("meaning",),
    "voiceagent without judges": (),
}
PLOTTED_MS = tuple(float(ms) for ms in range(220, 2000, 20))
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One set, heard."""

    mark: str
    turns: Sequence[Evidence]
    found: Sequence[Row]
    pauses: Pauses

    def part(self, wanted: Callable[[Evidence], bool]) -> HeldOut:
        """Some of its turns."""
        turns = [turn for turn in self.turns if wanted(turn)]
        kept = rows(turns, read_meanings())
        return HeldOut(self.mark, turns, kept, pauses_of(kept, turns))


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures and `endpointing.svg`: minutes where the evidence is there, half an hour where it has to be made."""
    known = [*await people_figures(), *await endpointing_demo.measure()]
    for mark, line, times in SETS:
        held_out = await heard(mark, line)
        known += figures(held_out, times)
        if line == "wide":
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "endpointing.svg").write_text(drawn(held_out), encoding="utf-8")
    return iter(known)


async def people_figures() -> list[Figure]:
    """Set (d). Raises ModelError."""
    try:
        turns, found = await heard_people(MEASURED)
    except FileNotFoundError:
        turns, found = [], []
    return [*_measured(turns, found), *_validated(*await heard_people(FITTED))]


def _measured(turns: Sequence[Evidence], found: Sequence[Row]) -> Iterator[Figure]:
    yield Figure("(d) people's calls that nothing is fitted to: turns", len(turns), "", "", True)
    if turns:
        held_out = HeldOut("(d)", turns, found, pauses_of(found, turns))
        yield Figure("(d) pauses of 200 ms or more inside", inside(held_out), "", "", True)
        yield from _runs(held_out)
        yield from _swept(held_out, PEOPLES)


def _validated(turns: Sequence[Evidence], found: Sequence[Row]) -> Iterator[Figure]:
    validated = HeldOut("(d) fitted to, by cross-validation:", turns, found, pauses_of(found, turns))
    chance = cross_validated(found, known_before())
    yield Figure(f"{validated.mark} turns", len(turns), "", "", True)
    yield Figure(f"{validated.mark} pauses of 200 ms or more inside", inside(validated), "", "", True)
    yield from _runs(validated, chance)
    yield from _rows(validated, OURS, chance, None)
    yield from _rows(validated, "both judges, summed", alone(found, JUDGES), None)
    yield from _rows(validated, SILENCE, None, None)


async def heard(mark: str, line: Line) -> HeldOut:
    """The held-out turns on a line. Raises ModelError."""
    turns = await evidence("held_out", TURNS, line)
    found = rows(turns, read_meanings())
    return HeldOut(mark, turns, found, pauses_of(found, turns))


def chances(found: Sequence[Row], kept: Sequence[str] = JUDGES) -> Floats:
    """Returns the probability that the agent's own model gives each pause, where only these judges have answered; 0 without
    words, as in a call."""
    model = EndpointModel()
    return np.array([model.completeness(only(row.evidence, kept), ENGLISH) if row.evidence.words else 0.0 for row in found])


def alone(found: Sequence[Row], names: Sequence[str]) -> Floats:
    """The plain sum of judges' log-odds, 0 for one that has not spoken, as a chance."""
    odds = [sum(log_odds(row.evidence.judged.get(name, 0.5), SURE[name]) for name in names) for row in found]
    return np.asarray(1 / (1 + np.exp(-np.array(odds))))


def delays_ms(found: Sequence[Row], known: Floats, manner: Manner = "balanced") -> Floats:
    """The silences that the agent would wait for, in a manner."""
    model, (shortest_ms, longest_ms) = (
        EndpointModel(risk=ENDPOINTING_MANNERS[manner].risk),
        TurnSettings(manner=manner).endpointing_delays_ms,
    )
    most = [most_for(row.evidence, ENGLISH, shortest_ms=shortest_ms, longest_ms=longest_ms) for row in found]
    chances = zip(known.tolist(), most, strict=True)
    return np.array([model.delays_for(chance, shortest_ms, most_ms).endpoint_ms for chance, most_ms in chances])


def as_it_runs(held_out: HeldOut, manner: Manner = "balanced", known: Floats | None = None) -> RuleScore:
    """The agent's rule. `known` are chances in place of the shipped model's."""
    known = chances(held_out.found) if known is None else known
    return rule_score(held_out.pauses, delays_ms(held_out.found, known, manner))


def inside(held_out: HeldOut) -> int:
    """Counts the silences of 200 ms or more inside its turns."""
    return int((held_out.pauses.lasted_ms[~held_out.pauses.is_end] >= 200).sum())


def _runs(held_out: HeldOut, known: Floats | None = None) -> Iterator[Figure]:
    """Yields the figures of each manner."""
    for manner in ENDPOINTING_MANNERS:
        runs, name = as_it_runs(held_out, manner, known), f"{held_out.mark} as it runs, {manner}"
        yield Figure(f"{name}: false cutoffs", PERCENT * runs.cut_off, "%", "", True)
        yield Figure(f"{name}: p50", runs.median_ms, "ms", "", True)
        yield Figure(f"{name}: mean", runs.mean_ms, "ms", "", True)
        yield Figure(f"{name}: p90", runs.p90_ms, "ms", "", True)


def rules(held_out: HeldOut) -> dict[str, Floats | None]:
    """The chances of every row of the table; None for a fixed silence."""
    ours = {name: chances(held_out.found, kept) for name, kept in KEPT.items()}
    judges = {EAR: ("ear",), "meaning alone": ("meaning",), "both judges, summed": JUDGES}
    return {**ours, **{name: alone(held_out.found, names) for name, names in judges.items()}, SILENCE: None}


def outcomes(held_out: HeldOut, known: Floats | None) -> Outcomes:
    """Returns the outcomes of all policies over those chances."""
    return silences(held_out.pauses) if known is None else outcomes_of(held_out.pauses, known)


def figures(held_out: HeldOut, times: float) -> Iterator[Figure]:
    """A set's part of the table; ours has targets."""
    mark = held_out.mark
    yield at_least(f"{mark} turns", len(held_out.turns), LEAST_TURNS, "")
    yield Figure(f"{mark} silences of 200 ms or more inside", inside(held_out), "", "", True)
    yield from _runs(held_out)
    yield from _swept(held_out, Goals(CUT_OFF_300 * times, CUT_OFF_600 * times, LATENCY_MS * times))
    yield from _by(held_out, "kind", lambda turn: turn.kind)
    yield from _by(held_out, "voice", lambda turn: "joe" if turn.voice == "joe" else "espeak-ng")
    yield from _by(held_out, "speed", lambda turn: turn.speed)


def _swept(held_out: HeldOut, goals: Goals) -> Iterator[Figure]:
    for name, known in rules(held_out).items():
        yield from _rows(held_out, name, known, goals if name == OURS else None)


def _rows(held_out: HeldOut, name: str, known: Floats | None, goals: Goals | None) -> Iterator[Figure]:
    mark, long = held_out.mark, held_out.pauses.lasted_ms >= PAUSE_MS
    found, goals = best(outcomes(held_out, known)), goals or NO_GOALS
    if known is not None:
        reached = area(known[long], held_out.pauses.is_end[long])
        title = f"{mark} {name}: area under the curve"
        yield Figure(title, reached, "", "", True) if goals.area is None else at_least(title, reached, goals.area, "")
    for budget_ms, most in ((300.0, goals.cut_off_300), (600.0, goals.cut_off_600)):
        title = f"{mark} {name}: false cutoffs at {budget_ms:.0f} ms"
        yield _figure(title, found.cut_off_at[budget_ms], PERCENT, "%", most)
    yield _figure(f"{mark} {name}: latency at 5 % false cutoffs", found.latency_ms, 1.0, "ms", goals.latency_ms)


def _figure(name: str, found: Interval, scale: float, unit: str, most: float | None) -> Figure:
    named = f"{name} [{found.low * scale:.3g}–{found.high * scale:.3g}]"
    return Figure(named, found.value * scale, unit, "", True) if most is None else at_most(named, found.value * scale, most, unit)


def _by(held_out: HeldOut, what: str, key: Callable[[Evidence], str]) -> Iterator[Figure]:
    """The rule as it runs on parts of the set."""
    for value in sorted({key(turn) for turn in held_out.turns}):
        part = held_out.part(lambda turn, value=value: key(turn) == value)  # type: ignore[misc]
        runs = as_it_runs(part)
        name = f"{held_out.mark} {what} {value}, {len(part.turns)} turns"
        yield Figure(f"{name}: false cutoffs", PERCENT * runs.cut_off, "%", "", True)
        yield Figure(f"{name}: p50", runs.median_ms, "ms", "", True)


def drawn(held_out: HeldOut) -> str:
    """The best policies at each mean latency, and the rule as it runs."""
    known = rules(held_out)
    curves = [Curve(name, frontier(outcomes(held_out, known[name]), PLOTTED_MS)) for name in (OURS, EAR, SILENCE)]
    runs = as_it_runs(held_out)
    return plot(curves, (runs.mean_ms, PERCENT * runs.cut_off), (LATENCY_MS, PERCENT * 0.05))
