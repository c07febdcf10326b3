"""The figures of people's turns and of their short answers, from what each contestant's calls measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness import Figure, at_least, at_most, plain
from bench.held_out import interval
from bench.people.contestants import Contestant
from bench.people.conversation import Found, Heard
from voiceagent.latency.budgets import percentile

MOST_CUT_PERCENT = {"brisk": 17.0, "balanced": 11.0}
P50_MS = {"brisk": 450.0, "balanced": 600.0}
PATIENT, MEAN_BESIDE_PEER = "patient", 0.65
SHORT_P95_MS = 900.0

Measured = Mapping[Contestant, Found]


def turn_rows(measured: Measured) -> Iterator[Figure]:
    """Yields the share of turns that were cut off, and the wait of the others."""
    yield from _sets(measured)
    for contestant, found in measured.items():
        yield from _one(contestant, found)
    peer = next((found for contestant, found in measured.items() if not contestant.manner), None)
    patient = next((found for contestant, found in measured.items() if contestant.manner == PATIENT), None)
    if peer is not None and patient is not None and peer.turns and patient.turns:
        yield from _beside(patient, peer)


def _sets(measured: Measured) -> Iterator[Figure]:
    said = {heard.said for found in measured.values() for heard in found.turns}
    for name in sorted({each.set_name for each in said}):
        mine = [each for each in said if each.set_name == name]
        speakers = len({each.speaker for each in mine})
        yield plain(f"people's turns of `{name}`, of {speakers} speakers", len(mine), "")


def _one(contestant: Contestant, found: Found) -> Iterator[Figure]:
    label, manner = contestant.name, contestant.manner
    yield plain(f"{label}: turns", len(found.turns), "")
    if found.turns:
        share = _cut_percent(found.turns)
        cut = _cut_label(label, "turns", found.turns)
        yield (
            at_most(cut, round(share, 1), MOST_CUT_PERCENT[manner], "%") if manner in MOST_CUT_PERCENT else plain(cut, share, "%")
        )
    if hesitant := [heard for heard in found.turns if heard.said.pauses_s]:
        yield plain(_cut_label(label, "hesitant turns", hesitant), _cut_percent(hesitant), "%")
    if times := waited_ms(found.turns):
        p50 = round(percentile(times, 50), 1)
        name = f"{label}: the others answered after, p50"
        yield at_most(name, p50, P50_MS[manner], "ms") if manner in P50_MS else plain(name, p50, "ms")
        yield plain(f"{label}: the others answered after, mean", statistics.fmean(times), "ms")
        yield plain(f"{label}: the others answered after, p90", percentile(times, 90), "ms")
    yield plain(f"{label}: unanswered", sum(heard.at_ms is None for heard in found.turns), "")
    yield from _problems(contestant, found)


def _problems(contestant: Contestant, found: Found) -> Iterator[Figure]:
    for problem in found.problems:
        print(f"problem: {contestant.name}: {problem}")
    yield at_most(f"{contestant.name}: calls that failed", len(found.problems), 0, "")


def _beside(patient: Found, peer: Found) -> Iterator[Figure]:
    """The patient manner beside the peer in the same run."""
    most = round(_cut_percent(peer.turns), 1)
    yield at_most("patient: cut off, beside Pipecat's share", round(_cut_percent(patient.turns), 1), most, "%")
    ours, theirs = waited_ms(patient.turns), waited_ms(peer.turns)
    if ours and theirs:
        ratio = statistics.fmean(ours) / statistics.fmean(theirs)
        yield at_most("patient: mean answer over Pipecat's", round(ratio, 3), MEAN_BESIDE_PEER, "×")


def waited_ms(heard: Sequence[Heard]) -> list[float]:
    """Returns the wait for its answer of each turn that was not cut off."""
    return [each.at_ms for each in heard if each.at_ms is not None and not each.cut]


def _cut_percent(heard: Sequence[Heard]) -> float:
    return 100.0 * sum(each.cut for each in heard) / len(heard)


def _cut_label(label: str, what: str, heard: Sequence[Heard]) -> str:
    low, high = interval(sum(each.cut for each in heard), len(heard))
    return f"{label}: {len(heard)} {what} cut off [{100 * low:.1f}–{100 * high:.1f}]"


def short_rows(measured: Measured) -> Iterator[Figure]:
    """Yields the share of short answers that were answered, and how soon."""
    for contestant, found in measured.items():
        for band in sorted({heard.said.band for heard in found.turns}):
            heard = [each for each in found.turns if each.said.band == band]
            yield from _answers(f"{contestant.name}, {band}", heard, is_ours=bool(contestant.manner))
        yield from _problems(contestant, found)


def _answers(label: str, heard: Sequence[Heard], *, is_ours: bool) -> Iterator[Figure]:
    yield plain(f"{label}: short answers", len(heard), "")
    share = round(100.0 * sum(each.at_ms is not None for each in heard) / len(heard), 1)
    yield at_least(f"{label}: answered", share, 100, "%") if is_ours else plain(f"{label}: answered", share, "%")
    if times := waited_ms(heard):
        p95 = round(percentile(times, 95), 1)
        yield plain(f"{label}: answered after, p50", percentile(times, 50), "ms")
        yield (
            at_most(f"{label}: answered after, p95", p95, SHORT_P95_MS, "ms")
            if is_ours
            else plain(f"{label}: answered after, p95", p95, "ms")
        )


def write_turns(path: Path, measured: Measured) -> None:
    """Write a row for each turn, to look at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [_row(contestant, heard) for contestant, found in measured.items() for heard in found.turns]
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def _row(contestant: Contestant, heard: Heard) -> dict[str, Any]:
    said = heard.said
    return {
        "contestant": contestant.name,
        "file": said.name,
        "set": said.set_name,
        "band": said.band,
        "pauses_s": said.pauses_s,
        "cut": heard.cut,
        "at_ms": heard.at_ms,
    }
