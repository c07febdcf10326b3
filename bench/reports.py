"""Measures how long reports take: a page of 10,000 turns, their other forms, and the comparison of two sets of as many."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable

from bench.harness import Figure, at_most, plain
from tests.reports.measured import turns
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import LegKind, WaitCause
from voiceagent.reports.comparison import compare_sets
from voiceagent.reports.formats import as_data, as_junit, as_openmetrics
from voiceagent.reports.html_page import as_html
from voiceagent.reports.turn_groups import grouped
from voiceagent.reports.turn_table import as_csv, row
from voiceagent.resources import default_budgets_file
from voiceagent.store.turns import MAX_TURNS

NOTES = """\
Turns are drawn at random, over 14 days, two versions and two legs. The comparison is of two sets of 10,000 turns of 2,000 calls,
with 30 ms put into the second's `llm_ttft`. What is blamed is counted over pairs of sets of 200 turns of 20 calls: 40 pairs
for each part that 30 ms were put into, 200 in which nothing was.
"""
PLANTED_MS = 30.0
PAIRS, NULL_PAIRS = 40, 200


async def measure(_: argparse.Namespace) -> Iterable[Figure]:
    """Time each."""
    budgets = load_budgets(default_budgets_file())
    drawn = [turn for day in range(14) for turn in turns(600, day, at=1.79e9 + day * 86_400, version=f"0.{day // 7}.0")]
    drawn += turns(MAX_TURNS - len(drawn), 99, at=1.79e9, leg=LegKind.TELEPHONE)
    figures = [at_most("HTML", _seconds(lambda: as_html(grouped(drawn, budgets))), 5, "s")]
    forms: dict[str, Callable[[], object]] = {
        "JSON": lambda: as_data(grouped(drawn, budgets)),
        "JUnit": lambda: as_junit(grouped(drawn, budgets)),
        "OpenMetrics": lambda: as_openmetrics(grouped(drawn, budgets)),
        "CSV": lambda: as_csv(drawn),
    }
    figures += [plain(name, _seconds(form), "s", 2) for name, form in forms.items()]
    before, after = ([row(turn) for turn in turns(MAX_TURNS, seed, more, calls=2000)] for seed, more in ((1, {}), (2, _slower())))
    figures.append(plain("comparison of two sets", _seconds(lambda: compare_sets(before, after)), "s", 2))
    return [*figures, *_found()]


def _slower(part: WaitCause = WaitCause.LLM_TTFT) -> dict[WaitCause, float]:
    return {part: PLANTED_MS}


def _found() -> Iterable[Figure]:
    """How often what was planted is blamed, and how often chance is."""
    for part in (WaitCause.STT_WAIT, WaitCause.LLM_TTFT, WaitCause.LLM_WRITING, WaitCause.TTS_FIRST_AUDIO, None):
        blamed = []
        for pair in range(NULL_PAIRS if part is None else PAIRS):
            more = {} if part is None else _slower(part)
            before, after = turns(200, 1000 + 2 * pair), turns(200, 1001 + 2 * pair, more)
            blame = compare_sets([row(turn) for turn in before], [row(turn) for turn in after]).to_blame
            blamed.append(blame is not None if part is None else blame is not None and blame.name == part)
        name = "nothing put in: a part is blamed" if part is None else f"{PLANTED_MS:.0f} ms put into {part}: it is blamed"
        yield plain(name, sum(blamed) / len(blamed) * 100, "%")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 2)
