"""Measures budget actions on a machine in virtual time: which of them keep the callers' wait where it would double."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.harness import Figure, at_least, at_most, plain
from bench.loaded_machine import CORES, HEARING, MODEL, Costs, Load, LoadedCall
from voiceagent.conversation.rules import Degradation
from voiceagent.latency.budgets import load_budgets, percentile
from voiceagent.latency.burn import BudgetBurn, OnMiss
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file

PROFILE = "starter"
KEPT = 1.25
"""A p95 is kept if it is at most so many times the usual one."""
SETTLED_MS, END_MS = 60_000.0, 360_000.0
EVERY = frozenset(Degradation)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of server under load."""

    name: str
    on_miss: OnMiss = OnMiss.WARN
    stage: Stage = Stage.VOICE_TO_VOICE
    allowed: frozenset[Degradation] = EVERY
    speculates: bool = True
    tools: bool = False


WARN, BY_MODEL = Kind("warn"), Kind("degrade, by llm_ttft", OnMiss.DEGRADE, Stage.LLM_TTFT)
WITH_TOOLS = Kind("degrade, by llm_ttft, of an agent with tools", OnMiss.DEGRADE, Stage.LLM_TTFT, tools=True)
BY_WAIT, SHED = Kind("degrade, by voice_to_voice", OnMiss.DEGRADE), Kind("shed, by voice_to_voice", OnMiss.SHED)
KINDS = (
    WARN,
    Kind("warn, and never a speculative reply", speculates=False),
    *(Kind(f"{one} alone", OnMiss.DEGRADE, Stage.LLM_TTFT, frozenset({one})) for one in Degradation),
    BY_MODEL,
    WITH_TOOLS,
    BY_WAIT,
    SHED,
)
MACHINES = (("model", MODEL, 10, 17), ("hearing", HEARING, 12, 30))
"""Machines by what has most of the work, the usual number of calls, and one that is too many."""


NOTES = f"""\
`bench/loaded_machine.py`: {CORES:g} cores in virtual time that all work shares evenly, with the real turn engine, measurement and
budget actions. Four questions of ten have a pause inside; a caller asks again 0.6 to 1.5 s after the answer, and calls have five
turns. *model*: a machine on which the language model has most of the work; *hearing*: one on which the recogniser has. The
budgets are those of `{PROFILE}`; the first minute of six is left out. Short answers bring the next question sooner, so there are
more turns with them. The agent has no tools, where nothing else is said; of one that has, the model writes a sentence more.
"""


def loaded(kind: Kind, costs: Costs, calls: int, end_ms: float = END_MS) -> Load:
    """As many callers on one machine."""
    burn = BudgetBurn({kind.stage: kind.on_miss})
    load = Load(burn, load_budgets(default_budgets_file()), costs, kind.allowed, kind.speculates, kind.tools)
    for seed in range(calls):
        LoadedCall(load, seed, PROFILE)
    load.machine.run_until(end_ms)
    return load


def p95_ms(load: Load) -> float:
    """The p95 of the waits, without the first minute."""
    return percentile(load.waits_ms(SETTLED_MS), 95)


async def measure(_: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about two minutes."""
    return _figures()


def _figures() -> Iterator[Figure]:
    for name, costs, usual, many in MACHINES:
        before = loaded(WARN, costs, usual)
        yield from _rows(f"{name}: {usual} calls", before)
        found = {kind: loaded(kind, costs, many) for kind in KINDS}
        for kind, load in found.items():
            yield from _rows(f"{name}: {many} calls, {kind.name}", load)
        times = {kind: round(p95_ms(load) / p95_ms(before), 2) for kind, load in found.items()}
        if costs is MODEL:
            yield at_least(f"{name}: p95 of {many} calls over {usual}, {WARN.name}", times[WARN], 2, "times")
        for kind in (*((BY_MODEL, WITH_TOOLS) if costs is MODEL else ()), BY_WAIT, SHED):
            yield at_most(f"{name}: p95 of {many} calls over {usual}, {kind.name}", times[kind], KEPT, "times")


def _rows(name: str, load: Load) -> Iterator[Figure]:
    waits, turns = load.waits_ms(SETTLED_MS), max(1, len(load.turns))
    yield plain(f"{name}: voice to voice, p50", percentile(waits, 50), "ms", 0)
    yield plain(f"{name}: voice to voice, mean", sum(waits) / len(waits), "ms", 0)
    yield plain(f"{name}: voice to voice, p95", p95_ms(load), "ms", 0)
    yield plain(f"{name}: turns", len(waits), "", 0)
    yield plain(f"{name}: partial decodes a turn", load.partials / turns, "", 1)
    yield plain(f"{name}: words heard a turn", load.words / turns, "", 1)
    yield plain(f"{name}: calls refused", load.refused, "", 0)
