"""A token bucket: what is taken out of it may come in a burst, and in the long run no faster than it is refilled (RFC 2697 §3
tells it for networks). Pure: times come in."""

from __future__ import annotations


class TokenBucket:
    """Starts full. Amounts are in the unit of `rate_per_s`: events, bytes, milliseconds of audio."""

    __slots__ = ("_at_s", "_left", "burst", "rate_per_s")

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self.rate_per_s = rate_per_s
        self.burst = burst
        """What it holds at most."""
        self._left = burst
        self._at_s: float | None = None

    def left(self, now_s: float) -> float:
        """What can be taken now; below zero after a `charge` of more than there was. A clock that goes back adds nothing."""
        if self._at_s is None or now_s > self._at_s:
            passed_s = 0.0 if self._at_s is None else now_s - self._at_s
            self._left = min(self.burst, self._left + passed_s * self.rate_per_s)
            self._at_s = now_s
        return self._left

    def take(self, amount: float, now_s: float) -> bool:
        """Take `amount` if it is there; whether it was."""
        if self.left(now_s) < amount:
            return False
        self._left -= amount
        return True

    def charge(self, amount: float, now_s: float) -> None:
        """Take `amount` whether it is there or not: what was used is known only afterwards."""
        self.left(now_s)
        self._left -= amount

    def wait_s(self, amount: float, now_s: float) -> float:
        """How long until `amount` is there; infinite for more than it ever holds."""
        missing = amount - self.left(now_s)
        if missing <= 0:
            return 0.0
        return missing / self.rate_per_s if amount <= self.burst and self.rate_per_s > 0 else float("inf")
