"""The actions that follow from missed latency budgets, for all calls of a server: turns and the time go in, burn rates and their
changes come out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from voiceagent.conversation.rules import Degradation
from voiceagent.latency.budgets import Miss
from voiceagent.latency.burn import BudgetBurn, BurnRates
from voiceagent.latency.spans import TurnReport
from voiceagent.server.calls.shedding import Shedding

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""The interval at which time alone may change a level."""


class BudgetActions:
    """One per server. A level that changed by itself is noticed when somebody asks."""

    def __init__(self, burn: BudgetBurn | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._burn = burn or BudgetBurn()
        self._clock = clock
        self._looked_s = clock()
        self._degradations: tuple[Degradation, ...] = ()
        self._sheds = 0
        self._shedding = Shedding()

    def measured(self, report: TurnReport, misses: Iterable[Miss]) -> None:
        """A turn is over."""
        self._changed(self._burn.turn(self._clock(), report.durations_ms(), {miss.stage for miss in misses}))

    def rates(self) -> list[BurnRates]:
        """The burn rates and levels of all stages now."""
        self._look()
        return self._burn.rates()

    def degradations(self) -> tuple[Degradation, ...]:
        """The things that all calls go without now."""
        self._look()
        return self._degradations

    def sheds(self) -> int:
        """The number of times that fewer calls are to be admitted; 0: as many as there is room for."""
        self._look()
        return self._sheds

    def most_calls(self, up: int) -> int | None:
        """The most calls that may be up, where `up` are; None: as many as there is room for."""
        return self._shedding.limit(self._clock(), self.sheds(), up)

    @property
    def takes_fewer(self) -> bool:
        """True while `most_calls` gave a limit the last time."""
        return self._shedding.goes_on

    def _look(self) -> None:
        now_s = self._clock()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self._changed(self._burn.at(now_s))

    def _changed(self, changes: Iterable[BurnRates]) -> None:
        for rates in changes:
            self._degradations, self._sheds = self._burn.degradations(), self._burn.sheds()
            now = ", ".join((*self._degradations, *(("fewer calls",) if self._sheds else ()))) or "as usual"
            if rates.level is None:
                log.info("%s keeps its latency budget again; calls: %s", rates.stage, now)
            else:
                log.warning("%s: %s; calls: %s", rates, rates.level, now)
