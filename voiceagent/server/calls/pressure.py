"""The load of the event loop: the share of the last seconds in which it was at work, and the delay of its timers, which pace the
audio of all calls. Under pressure first no more calls are taken, then no more speculative replies are
begun."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_BEATS = 30
"""Three seconds of `LoopMonitor`'s beats."""
LAG_LIMIT_MS = 25.0
"""Lateness that nine in ten beats must stay below: with 20 ms frames, a later beat is heard as a gap."""
LATE_LIMIT = 0.1
"""The share of timers that may be a whole frame late."""
MIN_SETTLED = 4
SETTLED_SHARE = 0.75
"""A beat shows what a call costs if at least `MIN_SETTLED` calls are settled, and this share of those that are connected. The
cost of young calls has not shown yet, and calls that begin and end together cost more than those that go on."""
COST_BEATS = 600
"""A beat shows it for one minute."""
MIN_TIMERS = 500
"""If the window has fewer timers, this many are assumed: one stall of a server with one call is no trend."""
BUSY_LIMIT = 0.7
"""The share of its time that the loop may be at work, for one call more to be taken."""
STRAINED = 0.95
"""The same for speculative work. A loop that carries as many calls as are taken has time for it. Most of it is kept, so without
it all callers would wait longer to spare little."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The loop's work in a tenth of a second."""

    lag_ms: float
    """The delay of the beat itself."""
    timers: int = 0
    late_timers: int = 0
    """Timers that ran 20 ms late or more."""
    busy: float = 0.0
    """The share of the time at work, 0 to 1."""


@dataclass(frozen=True, slots=True)
class CallsUp:
    """The calls that the event loop carries."""

    connected: int = 0
    """A half-open call costs nothing."""
    settled: int = 0
    """Those that have lasted long enough to show their cost."""


class Pressure:
    """The pressure on the event loop. At a level of 1, the server is full whatever its number of calls. From a strain of
    `SpeculationRules.busy_load` on, nothing speculative is begun."""

    def __init__(self) -> None:
        self.calls_up: Callable[[], CallsUp] = CallsUp
        """Set by whoever keeps the calls."""
        self.level = 0.0
        """The worst of lag, late timers and work, each as a share of its limit."""
        self.strain = 0.0
        """The same, with `STRAINED` as the limit of the work."""
        self.busy = 0.0
        """The share of the window that the loop was at work."""
        self._beats: deque[Beat] = deque([Beat(0.0)] * WINDOW_BEATS, maxlen=WINDOW_BEATS)
        self._number = 0
        self._costs: deque[tuple[int, float, int]] = deque(maxlen=WINDOW_BEATS)
        """The last beats that show what a call costs: the number, the share at work and the connected calls of each."""

    def add(self, beat: Beat) -> None:
        """A tenth of a second has passed."""
        self._number += 1
        up = self.calls_up()
        if up.settled >= max(MIN_SETTLED, SETTLED_SHARE * up.connected):
            self._costs.append((self._number, beat.busy, up.connected))
        while self._costs and self._costs[0][0] <= self._number - COST_BEATS:
            self._costs.popleft()
        self._beats.append(beat)
        beats = self._beats
        lags_ms = sorted(beat.lag_ms for beat in beats)
        late = sum(beat.late_timers for beat in beats) / max(MIN_TIMERS, sum(beat.timers for beat in beats))
        self.busy = sum(beat.busy for beat in beats) / len(beats)
        delay = max(lags_ms[len(lags_ms) * 9 // 10] / LAG_LIMIT_MS, late / LATE_LIMIT)
        self.level, self.strain = max(delay, self.busy / BUSY_LIMIT), max(delay, self.busy / STRAINED)

    def carries(self, calls: int) -> bool:
        """True if `calls` fit, each at the cost of one that goes on. While that cost is not known, only the level counts."""
        return self.level < 1.0 and calls * (self._cost() or 0.0) <= BUSY_LIMIT

    def why(self) -> str:
        """The window in words, for the log."""
        lag_ms = max(beat.lag_ms for beat in self._beats)
        cost = self._cost()
        each = "" if cost is None else f"; a call keeps it at work for {cost:.1%}"
        return f"the event loop was at work for {self.busy:.0%} of the last 3 s, and at worst {lag_ms:.0f} ms late{each}"

    def _cost(self) -> float | None:
        """The share of the loop's time that a call takes; None: not known."""
        calls = sum(calls for _, _, calls in self._costs)
        return sum(busy for _, busy, _ in self._costs) / calls if calls else None
