"""How much of something a peer may make us do: an amount that is spent and comes back with time (a token bucket), and a meter of
two of them that tells who only has a burst from who goes on."""

from __future__ import annotations

from collections.abc import Callable


class Allowance:
    """`burst` units at once, `per_s` units a second in the long run; `clock` tells seconds."""

    def __init__(self, per_s: float, burst: float, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = self._left = burst
        self._clock = clock
        self._at_s = clock()

    def take(self, units: float = 1.0) -> bool:
        """Spend `units`; False, and nothing is spent, when there are not so many left."""
        now_s = self._clock()
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < units:
            return False
        self._left -= units
        return True


class Meter:
    """What exceeds `work` is refused; who is refused more than `patience` allows is `exhausted`, for good."""

    def __init__(self, work: Allowance, patience: Allowance) -> None:
        self.refused = 0
        """How often something was refused."""
        self.exhausted = False
        self._work = work
        self._patience = patience

    def admit(self, units: float) -> bool:
        """Whether `units` of work may be done now."""
        if self.exhausted:
            return False
        if self._work.take(units):
            return True
        self.refuse(units)
        return False

    def refuse(self, units: float) -> None:
        """Count `units` that were not done as they were not worth it."""
        self.refused += 1
        if not self._patience.take(units):
            self.exhausted = True
