"""A token bucket: amounts may be taken in a burst, but in the long run no faster than it is refilled (RFC 2697 §3 describes it
for networks). A meter is two of them, and distinguishes a sender of one burst from a sender that goes on. Pure: times come in."""

from __future__ import annotations


class TokenBucket:
    """Starts full. Amounts are in the unit of `rate_per_s`: events, bytes, milliseconds of audio."""

    __slots__ = ("_at_s", "_left", "burst", "rate_per_s")

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self.rate_per_s = rate_per_s
        self.burst = burst
        """The most that it holds."""
        self._left = burst
        self._at_s: float | None = None

    def left(self, now_s: float) -> float:
        """The amount that can be taken now; below zero after a `charge` of more than there was. A clock that goes back adds
        nothing."""
        if self._at_s is None or now_s > self._at_s:
            passed_s = 0.0 if self._at_s is None else now_s - self._at_s
            self._left = min(self.burst, self._left + passed_s * self.rate_per_s)
            self._at_s = now_s
        return self._left

    def take(self, amount: float, now_s: float) -> bool:
        """Take `amount` if it is there; returns whether it was."""
        if self.left(now_s) < amount:
            return False
        self._left -= amount
        return True

    def charge(self, amount: float, now_s: float) -> None:
        """Take `amount` whether it is there or not, because the use is known only afterwards."""
        self.left(now_s)
        self._left -= amount

    def wait_s(self, amount: float, now_s: float) -> float:
        """The time until `amount` is there; infinite for more than it ever holds."""
        missing = amount - self.left(now_s)
        if missing <= 0:
            return 0.0
        return missing / self.rate_per_s if amount <= self.burst and self.rate_per_s > 0 else float("inf")


class Meter:
    """Amounts beyond `work` are refused. A sender that is refused more than `patience` allows is `exhausted`, for good."""

    __slots__ = ("_patience", "_work", "exhausted", "refusals", "refused")

    def __init__(self, work: TokenBucket, patience: TokenBucket) -> None:
        self.exhausted = False
        self.refusals = 0
        """The number of refusals."""
        self.refused = 0.0
        """The amount refused, in the buckets' unit."""
        self._work = work
        self._patience = patience

    def admit(self, amount: float, now_s: float) -> bool:
        """True if `amount` of work may be done now; takes it, or counts a refusal."""
        if not self.exhausted and self._work.take(amount, now_s):
            return True
        self.refuse(amount, now_s)
        return False

    def refuse(self, amount: float, now_s: float) -> None:
        """Count a refused `amount`, whatever the reason."""
        self.refusals += 1
        self.refused += amount
        if not self._patience.take(amount, now_s):
            self.exhausted = True

    def give_up(self) -> None:
        """Exhausts the peer at once, for a message that cannot be a mistake."""
        self.refusals += 1
        self.exhausted = True
