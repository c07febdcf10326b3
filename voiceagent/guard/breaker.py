"""A circuit breaker for guards: a service that is dead or slow is left alone for a while, so that not every window waits for its
whole deadline. Failures open it at once; only successes in a row close it again. Pure: time comes with each question."""

from __future__ import annotations

FAILURES = 3.0
"""The failures that open it. A success makes up for half of one, so a service that fails in every other check is left alone."""
MADE_GOOD = 0.5
SUCCESSES = 2
"""Successes in a row that close it."""
REST_S, LONGEST_REST_S = 1.0, 30.0
"""The rest before the next trial; it doubles with each that fails."""


class Breaker:
    """One for each service."""

    def __init__(self) -> None:
        self.is_open = False
        self._failures = 0.0
        self._successes = 0
        """Those in a row since it was opened."""
        self._rest_s = REST_S
        self._until_s = 0.0

    def admits(self, now_s: float) -> bool:
        """True if the service may be asked. While it is open, one check goes through after each rest."""
        if not self.is_open:
            return True
        if now_s < self._until_s:
            return False
        self._until_s = now_s + self._rest_s
        return True

    def succeeded(self) -> bool:
        """Count an answer. Returns true if it closes the breaker."""
        self._failures = max(0.0, self._failures - MADE_GOOD)
        if not self.is_open:
            return False
        self._successes += 1
        self._until_s = 0.0  # the next trial need not wait
        if self._successes < SUCCESSES:
            return False
        self.is_open, self._failures, self._rest_s = False, 0.0, REST_S
        return True

    def failed(self, now_s: float) -> bool:
        """Count a failure. Returns true if it opens the breaker."""
        self._failures += 1
        self._successes = 0
        if self.is_open:
            self._rest_s = min(self._rest_s * 2, LONGEST_REST_S)
        opens = not self.is_open and self._failures >= FAILURES
        self.is_open = self.is_open or opens
        if self.is_open:
            self._until_s = now_s + self._rest_s
        return opens
