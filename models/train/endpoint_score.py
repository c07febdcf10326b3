"""Scores a rule for endpoints on heard turns as LiveKit's eot-bench does: how many turns it cuts off, against how long after
the end of speech it commits the others. Also what its speculative replies are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from models.train.endpoint_hear import FRAME_MS, HeardPause, HeardTurn
from voiceagent.turn_taking.endpointing import EndpointingDelays

Rule = Callable[[str, HeardPause], EndpointingDelays]
"""What the agent had asked and a pause → how long the pause may be."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule does to one turn."""

    commit_ms: float | None
    """When it was committed, from the end of speech; None where the turn was never heard."""
    cut_off: bool
    """Whether the caller went on after that."""
    begun_early_ms: float | None
    """When the answer to the whole turn was begun, as a speculative reply or on the commit, from the end of speech."""
    wasted: int
    """Speculative replies in pauses after which the caller went on."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a rule does to many turns. Latencies are from the end of speech, over the turns that were not cut off."""

    turns: int
    cut_off: float
    """Share of turns, 0 to 1."""
    median_ms: float
    p90_ms: float
    mean_ms: float
    begun_median_ms: float
    """When the answer was begun, as a speculative reply or on the commit."""
    wasted_a_turn: float
    missed: int
    """Turns in which no speech was found."""


def outcome(turn: HeardTurn, rule: Rule) -> Outcome:
    """Follow the pauses of a turn until the rule commits it."""
    wasted = 0
    for pause in turn.pauses:
        delays = rule(turn.asked, pause)
        commit_ms = _reached(pause, delays.endpoint_ms)
        begun_early_ms = _reached(pause, delays.eager_ms)
        if commit_ms is not None:
            begun_ms = commit_ms if begun_early_ms is None else min(begun_early_ms, commit_ms)
            return Outcome(commit_ms - turn.end_ms, not pause.is_end, begun_ms - turn.end_ms, wasted)
        wasted += begun_early_ms is not None
    return Outcome(None, False, None, wasted)


def _reached(pause: HeardPause, delay_ms: float) -> float | None:
    """When a silence of `delay_ms` is reached: at a frame, and not before the words are known. None: speech came first."""
    wait_ms = math.ceil(max(pause.decode_ms, delay_ms - pause.silence_ms) / FRAME_MS) * FRAME_MS
    return pause.at_ms + wait_ms if pause.silence_ms + wait_ms <= pause.lasted_ms else None


def score(turns: Iterable[HeardTurn], rule: Rule) -> Score:
    """The rule's figures over all turns."""
    outcomes = [outcome(turn, rule) for turn in turns]
    whole = [found for found in outcomes if not found.cut_off]
    latencies = np.array([found.commit_ms for found in whole if found.commit_ms is not None] or [math.nan])
    begun = [found.begun_early_ms for found in whole if found.begun_early_ms is not None] or [math.nan]
    return Score(
        turns=len(outcomes),
        cut_off=sum(found.cut_off for found in outcomes) / len(outcomes),
        median_ms=float(np.median(latencies)),
        p90_ms=float(np.percentile(latencies, 90)),
        mean_ms=float(latencies.mean()),
        begun_median_ms=float(np.median(begun)),
        wasted_a_turn=sum(found.wasted for found in outcomes) / len(outcomes),
        missed=sum(found.commit_ms is None for found in outcomes),
    )
