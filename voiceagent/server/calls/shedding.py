"""The number of calls that may be up while latency budgets burn: fewer with each step, and slowly more again afterwards. Pure:
steps, calls and time are given."""

from __future__ import annotations

SHED_SHARE = 0.75
"""The share of the calls that are up when shedding begins, up to which calls are taken. Each further step takes as much again."""
REGROWS_S = 200.0
"""The time in which as many calls as were up then would be taken again, evenly. If all who were refused came in at once, their
first turns would come at once."""


class Shedding:
    """One per server. Times are in seconds of one clock."""

    def __init__(self) -> None:
        self._from = 0
        """The calls that were up when shedding began. 0: it has not, or it is over."""
        self._least, self._seen_s = 0, 0.0
        """The last limit of a step, and the time at which it held."""

    @property
    def goes_on(self) -> bool:
        """True from its begin until as many calls may be up as then."""
        return bool(self._from)

    def limit(self, now_s: float, steps: int, calls: int) -> int | None:
        """The most calls that may be up; None: as many as there is room for. `steps` is 0 when no budget burns any more, and
        `calls` are up."""
        if steps:
            self._from = self._from or calls
            self._least, self._seen_s = int(self._from * SHED_SHARE**steps), now_s
            return self._least
        limit = self._least + int(self._from * (now_s - self._seen_s) / REGROWS_S)
        if limit < self._from:
            return limit
        self._from = 0
        return None
