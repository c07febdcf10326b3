"""Limits the events of a client. The cost of an event is known only after it was handled, so it is charged afterwards. While
there is a debt, events are refused unread. A client that goes on is an abuser. Pure: times come in."""

from __future__ import annotations

from enum import Enum

from voiceagent.realtime.server_events import RateLimit
from voiceagent.token_bucket import TokenBucket

EVENTS_PER_S, EVENTS_AT_ONCE = 20.0, 100.0
"""Client libraries send one or two events a turn; a tool's results may come together."""
WORK_PER_S, WORK_AT_ONCE = 2.0, 4.0
"""Events that involve the language model: typed messages, new instructions, new tools."""
BYTES_PER_S, BYTES_AT_ONCE = 16_384.0, 262_144.0
PATIENCE = 100.0
"""The number of events that are only refused; a client that sends more is an abuser."""
PATIENCE_PER_S = 2.0
"""The part of `PATIENCE` that is regained in a second."""
PATIENCE_BYTES = 4096.0
"""A large event counts as one refused event for each so many bytes."""
STRAINED_S = 1.0
"""The time after a refused event in which nothing speculative is done for the call."""
TOLD_EVERY_S = 1.0
"""The shortest time between two refusals that a client is told of."""


class AllowanceVerdict(Enum):
    """The treatment of an event."""

    TAKEN = "taken"
    REFUSED = "refused"
    TOLD = "refused, and the client is to be told"
    ABUSED = "the client goes on after it was refused"


class EventAllowance:
    """One per call. Times are milliseconds on the call's clock."""

    def __init__(self) -> None:
        self._events = TokenBucket(EVENTS_PER_S, EVENTS_AT_ONCE)
        self._work = TokenBucket(WORK_PER_S, WORK_AT_ONCE)
        self._bytes = TokenBucket(BYTES_PER_S, BYTES_AT_ONCE)
        self._patience = TokenBucket(PATIENCE_PER_S, PATIENCE)
        self._told_s = self._refused_s = float("-inf")

    def take(self, size_bytes: int, at_ms: float) -> AllowanceVerdict:
        """Returns the verdict on an event that has come."""
        now_s = at_ms / 1000.0
        if all(bucket.left(now_s) > 0 for bucket in (self._events, self._work, self._bytes)):
            return AllowanceVerdict.TAKEN
        self._refused_s = now_s
        self._patience.charge(1.0 + size_bytes / PATIENCE_BYTES, now_s)
        if self._patience.left(now_s) < 0:
            return AllowanceVerdict.ABUSED
        if now_s - self._told_s < TOLD_EVERY_S:
            return AllowanceVerdict.REFUSED
        self._told_s = now_s
        return AllowanceVerdict.TOLD

    def limits(self, at_ms: float) -> tuple[RateLimit, ...]:
        """The client's limit on work of the language model, and what is left of it."""
        left = max(0.0, self._work.left(at_ms / 1000.0))
        until_full_s = round((WORK_AT_ONCE - left) / WORK_PER_S, 3)
        return (RateLimit("requests", int(WORK_AT_ONCE), int(left), until_full_s),)

    def is_strained(self, at_ms: float) -> bool:
        """True shortly after an event of the client was refused."""
        return at_ms / 1000.0 - self._refused_s < STRAINED_S

    def charge(self, size_bytes: int, at_ms: float, *, work: bool) -> None:
        """An event was handled; `work` is whether the language model is involved."""
        now_s = at_ms / 1000.0
        self._events.charge(1.0, now_s)
        self._work.charge(float(work), now_s)
        self._bytes.charge(size_bytes, now_s)
