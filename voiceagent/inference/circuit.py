"""A circuit breaker of a server: after several failures in a row it is not asked for a while, so that calls hear at once that it
does not answer, and do not each wait for their own deadline. Then one request tries it. Pure: the time is handed in."""

from __future__ import annotations

FAILURES = 3
"""The failures in a row after which it opens."""
OPEN_S = 0.5
"""The time until one request tries the server again."""


class Circuit:
    """One per server."""

    def __init__(self) -> None:
        self._failures = 0
        self._open_until_s = 0.0

    def admits(self, now_s: float) -> bool:
        """True if the server may be asked now. Of an open circuit, one request in `OPEN_S` may."""
        if self._failures < FAILURES:
            return True
        if now_s < self._open_until_s:
            return False
        self._open_until_s = now_s + OPEN_S
        return True

    def worked(self) -> None:
        """The server has answered, be it with an error of its own."""
        self._failures = 0

    def failed(self, now_s: float) -> None:
        """The server has not answered."""
        self._failures += 1
        if self._failures >= FAILURES:
            self._open_until_s = now_s + OPEN_S
