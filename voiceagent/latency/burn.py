"""Burn rates: the speed at which a stage uses up its budget of misses, and the level that follows from it.

A p95 limit allows 5 % of turns to miss it. A burn rate is the share of turns that missed, divided by those 5 %: 1 keeps the
budget, 20 is every turn. As with the multiwindow alerts of the Site Reliability Workbook (chapter 5), two windows must agree: the
long one tells a trend from a bad moment, and the short one tells that it goes on now. Pure: turns and times are given."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from voiceagent.conversation.rules import Degradation
from voiceagent.latency.spans import Stage

ALLOWED = 0.05
"""The share of turns that may miss a p95 limit."""
BUCKET_S = 5.0
SHORT_BUCKETS, LONG_BUCKETS = 3, 13
"""The windows, the bucket that is being filled included: the last 10 to 15 s, and the last 60 to 65 s."""
ENTER_BURN = 4.0
"""From this burn rate on, in both windows, the level rises. It is a fifth of the turns."""
LEAVE_BURN = 1.0
"""Up to this one, in both windows, it falls."""
LEAST_MISSES = 4
"""Misses in the long window without which the level does not rise: a few turns are no trend."""
DWELL_S = 30.0
"""The shortest time for which a level is kept. Only the first step up is taken at once."""
LASTING_DWELL_S, MOST_DWELL_S = 120.0, 960.0
"""The shortest time for an action if there are as many turns as before: it may be what keeps the budget. With each relapse it is
twice as long, up to the most."""
LESS = 0.5
"""With at most this share of the turns that the long window had at its height, there is less to do, and `DWELL_S` is enough."""
RELAPSE_S = 120.0
"""A level that would rise again this soon after it fell is a relapse, for which the short window is enough: the load that caused
it is known."""
MOST_SHEDS = 8
"""The most steps at SHED."""


class OnMiss(StrEnum):
    """The furthest that a stage goes while it burns. Each goes as far as those before it."""

    WARN = "warn"
    DEGRADE = "degrade"
    SHED = "shed"


LADDERS = {
    OnMiss.WARN: (OnMiss.WARN,),
    OnMiss.DEGRADE: (OnMiss.DEGRADE,),
    OnMiss.SHED: (OnMiss.DEGRADE, OnMiss.SHED),
}
"""The levels above none, lowest first."""


_MODEL = frozenset(Degradation)
_WHOLE = frozenset({Degradation.FEWER_PARTIALS, Degradation.EARLY_FILLERS})
DEGRADATIONS = {stage: frozenset({Degradation.FEWER_PARTIALS}) for stage in Stage} | {
    Stage.LLM_TTFT: _MODEL,
    Stage.LLM_INTER_TOKEN: _MODEL,
    Stage.TOOL: frozenset({Degradation.EARLY_FILLERS}),
    Stage.TTS_FIRST_AUDIO: frozenset({Degradation.FEWER_PARTIALS, Degradation.SHORT_REPLIES}),
    Stage.ANSWER: _WHOLE,
    Stage.VOICE_TO_VOICE: _WHOLE,
}
"""The degradations of all calls while a stage is at DEGRADE or further."""


@dataclass(frozen=True, slots=True)
class BurnRates:
    """A stage's burn rates now."""

    stage: Stage
    on_miss: OnMiss
    level: OnMiss | None
    """The present action. None: the stage does not burn."""
    short: float
    long: float
    turns: int
    """Turns in the long window."""

    def __str__(self) -> str:
        return f"{self.stage} burns its budget {self.short:.1f} times (10 s) and {self.long:.1f} times (60 s)"


class _StageBurn:
    """One stage's windows and level."""

    def __init__(self, on_miss: OnMiss) -> None:
        self.on_miss = on_miss
        self._acts = on_miss is not OnMiss.WARN
        self.step = 0
        """Steps up the ladder, the last of which repeats at SHED; 0 is none."""
        self._counts: deque[list[int]] = deque(([0, 0] for _ in range(LONG_BUCKETS)), maxlen=LONG_BUCKETS)
        """Turns and misses of each bucket, the newest last."""
        self._changed_s: float | None = None
        self._fell_s: float | None = None
        self._dwell_s = LASTING_DWELL_S
        self._peak = 0
        """The most turns that the long window had since the first step."""
        self._most_steps = 1 + MOST_SHEDS if on_miss is OnMiss.SHED else 1

    @property
    def level(self) -> OnMiss | None:
        ladder = LADDERS[self.on_miss]
        return ladder[min(self.step, len(ladder)) - 1] if self.step else None

    @property
    def sheds(self) -> int:
        """Steps at SHED."""
        return self.step - 1 if self.level is OnMiss.SHED else 0

    def turn(self, *, missed: bool) -> None:
        self._counts[-1][0] += 1
        self._counts[-1][1] += missed

    def pass_on(self, buckets: int) -> None:
        """Begin as many new buckets."""
        self._counts.extend([0, 0] for _ in range(min(buckets, LONG_BUCKETS)))

    def rates(self) -> tuple[float, float, int, int]:
        """Burn rates of the short and the long window; turns and misses of the long one."""
        counts = list(self._counts)
        (turns, misses), (short_turns, short_misses) = (
            (sum(one for one, _ in some), sum(one for _, one in some)) for some in (counts, counts[-SHORT_BUCKETS:])
        )
        return short_misses / max(1, short_turns) / ALLOWED, misses / max(1, turns) / ALLOWED, turns, misses

    def judge(self, now_s: float) -> bool:
        """Move one step if the windows say so and the dwell is over. Returns whether it moved."""
        since_s = math.inf if self._changed_s is None else now_s - self._changed_s
        short, long, turns, misses = self.rates()
        self._peak = max(self._peak, turns) if self.step else 0
        if self._burns(now_s, short, long, misses):
            if self.step >= self._most_steps or (self.step and since_s < DWELL_S):
                return False
            self._dwell_s = min(MOST_DWELL_S, self._dwell_s * 2) if self._relapses(now_s) else LASTING_DWELL_S
            self.step += 1
        elif self.step and max(short, long) <= LEAVE_BURN and since_s >= self._least_s(turns):
            self.step -= 1
            self._fell_s = now_s
        else:
            return False
        self._changed_s = now_s
        return True

    def _burns(self, now_s: float, short: float, long: float, misses: int) -> bool:
        """Returns whether both windows burn. Where an action has just ended, the short one is enough."""
        if self._relapses(now_s):
            misses = sum(one for _, one in list(self._counts)[-SHORT_BUCKETS:])
            long = math.inf
        return min(short, long) >= ENTER_BURN and misses >= LEAST_MISSES

    def _relapses(self, now_s: float) -> bool:
        """Returns whether a step up would follow soon after an action has ended."""
        return self._acts and self._fell_s is not None and now_s - self._fell_s < RELAPSE_S

    def _least_s(self, turns: int) -> float:
        """The shortest time that the present step lasts."""
        has_less_to_do = self.step == 1 and turns <= LESS * self._peak
        return self._dwell_s if self._acts and not has_less_to_do else DWELL_S


class BudgetBurn:
    """The burn rates and levels of all stages. Times are in seconds of one clock; one that goes back counts as standing still."""

    def __init__(self, on_miss: Mapping[Stage, OnMiss] | None = None) -> None:
        """`on_miss`: WARN for those that are not named."""
        self._stages = {stage: _StageBurn((on_miss or {}).get(stage, OnMiss.WARN)) for stage in Stage}
        self._now_s: float | None = None

    def turn(self, now_s: float, measured: Iterable[Stage], missed: Collection[Stage]) -> list[BurnRates]:
        """A turn with these stages is over. Returns the stages whose level has changed."""
        self._advance(now_s)
        for stage in set(measured):
            self._stages[stage].turn(missed=stage in missed)
        return self._judge()

    def at(self, now_s: float) -> list[BurnRates]:
        """Time has passed. Returns the stages whose level has changed."""
        self._advance(now_s)
        return self._judge()

    def rates(self) -> list[BurnRates]:
        """All stages, as of the last turn or time."""
        return [self._of(stage) for stage in Stage]

    def level(self, stage: Stage) -> OnMiss | None:
        """The stage's level, as of then."""
        return self._stages[stage].level

    def degradations(self) -> tuple[Degradation, ...]:
        """The degradations of all calls, as of then."""
        acting = [stage for stage, burn in self._stages.items() if burn.level in (OnMiss.DEGRADE, OnMiss.SHED)]
        asked = frozenset[Degradation]().union(*(DEGRADATIONS[stage] for stage in acting))
        return tuple(one for one in Degradation if one in asked)

    def sheds(self) -> int:
        """The steps of the stage that is furthest at SHED; 0: none is."""
        return max(burn.sheds for burn in self._stages.values())

    def _advance(self, now_s: float) -> None:
        before_s = now_s if self._now_s is None else self._now_s
        self._now_s = max(now_s, before_s)
        over = int(self._now_s // BUCKET_S) - int(before_s // BUCKET_S)
        if over:
            for stage in self._stages.values():
                stage.pass_on(over)

    def _judge(self) -> list[BurnRates]:
        now_s = self._now_s or 0.0
        return [self._of(stage) for stage, burn in self._stages.items() if burn.judge(now_s)]

    def _of(self, stage: Stage) -> BurnRates:
        burn = self._stages[stage]
        short, long, turns, _ = burn.rates()
        return BurnRates(stage, burn.on_miss, burn.level, short, long, turns)
