"""The measured turns of a report, in groups that are judged together: the turns of a profile, of each leg apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from voiceagent.latency.budgets import Budgets, Distribution, StageComparison, compare, distribution, percentile
from voiceagent.latency.spans import LegKind, TurnReport, Wait, WaitCause


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a group."""

    statuses: dict[str, int]
    """Replies by how they ended."""
    interruptions: int
    cut_offs: int
    """See `TurnFacts.cut_off`."""
    prompt_tokens: int
    tokens: int
    tools: int
    tools_failed: int
    speculative_kept: int
    speculative_discarded: int
    wasted_tokens: int
    versions: tuple[str, ...]
    steps: dict[str, int]
    """Turns by the agent's step in which they were answered."""
    degraded: int
    """Turns that went without something, to keep the budgets."""
    degradations: dict[str, int]
    """Those turns by what it was."""


@dataclass(frozen=True, slots=True)
class PartOfWait:
    """The time that a part adds to the callers' waits; over all of them, those it adds nothing to included."""

    part: WaitCause
    mean_ms: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class TurnGroup:
    """Turns that are judged together."""

    name: str
    """The profile; where it is not the page's, the leg stands behind it."""
    profile: str
    leg: LegKind
    turns: Sequence[TurnReport]
    stages: tuple[StageComparison, ...]
    waits: Sequence[Wait] = field(repr=False)
    """From voice to voice."""

    @property
    def over(self) -> bool:
        """True if a percentile is over its limit."""
        return any(stage.over for stage in self.stages)

    def parts(self) -> list[PartOfWait]:
        """The waits by what they were for, in the order of a turn. Other than percentiles, means add up to the mean wait."""
        totals = [wait.totals_ms() for wait in self.waits]
        found = []
        for part in WaitCause:
            values = [total.get(part, 0.0) for total in totals]
            if any(values):
                mean_ms = sum(values) / len(values)
                found.append(PartOfWait(part, mean_ms, percentile(values, 50), percentile(values, 95)))
        return found

    def jitter(self) -> dict[str, Distribution]:
        """The jitter of the turns, of the packets that came (`in`) and that went (`out`); what no turn has is left out."""
        came = [turn.facts.jitter_in_ms for turn in self.turns if turn.facts.jitter_in_ms is not None]
        went = [turn.facts.jitter_out_ms for turn in self.turns if turn.facts.jitter_out_ms is not None]
        return {name: distribution(values_ms) for name, values_ms in (("in", came), ("out", went)) if values_ms}

    def counts(self) -> Counts:
        """Counts how they went."""
        facts = [turn.facts for turn in self.turns]
        return Counts(
            statuses=dict(Counter(fact.status for fact in facts if fact.status)),
            interruptions=sum(turn.barge_in_stop_ms is not None for turn in self.turns),
            cut_offs=sum(fact.cut_off for fact in facts),
            prompt_tokens=sum(fact.prompt_tokens for fact in facts),
            tokens=sum(fact.tokens for fact in facts),
            tools=sum(fact.tools for fact in facts),
            tools_failed=sum(fact.tools_failed for fact in facts),
            speculative_kept=sum(fact.kept for fact in facts),
            speculative_discarded=sum(fact.discarded for fact in facts),
            wasted_tokens=sum(fact.wasted_tokens for fact in facts),
            versions=tuple(sorted({fact.version for fact in facts if fact.version})),
            steps=dict(Counter(fact.step for fact in facts if fact.step)),
            degraded=sum(bool(fact.degraded) for fact in facts),
            degradations=dict(Counter(one for fact in facts for one in fact.degraded)),
        )


def grouped(turns: Iterable[TurnReport], budgets: Budgets) -> list[TurnGroup]:
    """The turns in groups, in the order of their first turns. Raises ConfigError for a profile without budgets."""
    groups: dict[str, list[TurnReport]] = {}
    for turn in turns:
        groups.setdefault(_name(turn), []).append(turn)
    return [_group(name, of_group, budgets) for name, of_group in groups.items()]


def _group(name: str, turns: Sequence[TurnReport], budgets: Budgets) -> TurnGroup:
    profile, leg = turns[0].profile, turns[0].leg
    waits = [turn.wait for turn in turns if turn.wait is not None and not turn.wait.typed]
    return TurnGroup(name, profile, leg, turns, compare(turns, budgets.of(profile, leg)), waits)


def _name(turn: TurnReport) -> str:
    return turn.profile if turn.leg is LegKind.WEBRTC else f"{turn.profile}/{turn.leg}"
