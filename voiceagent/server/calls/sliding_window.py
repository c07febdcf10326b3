"""A limit on what is begun in any minute, wherever that minute lies. A token bucket would allow nearly twice as much in one."""

from __future__ import annotations

from collections import deque

MINUTE_S = 60.0


class SlidingWindow:
    """The times of what was begun in the last minute. A limit below one makes the window longer."""

    def __init__(self, a_minute: float) -> None:
        self.limit_to(a_minute)
        self._begun: deque[float] = deque()

    def limit_to(self, a_minute: float) -> None:
        """Allow so many a minute from now on. What was begun counts."""
        self._most = max(1, int(a_minute))
        self._window_s = MINUTE_S * max(1.0, 1.0 / a_minute)

    def take(self, now_s: float) -> bool:
        """Begin one; returns whether it may be."""
        if self.wait_s(now_s) > 0:
            return False
        self._begun.append(now_s)
        return True

    def wait_s(self, now_s: float) -> float:
        """The time until one may be begun."""
        while self._begun and self._begun[0] + self._window_s <= now_s:
            self._begun.popleft()
        return 0.0 if len(self._begun) < self._most else self._begun[-self._most] + self._window_s - now_s
