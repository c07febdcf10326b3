"""The placement of a new call: to the least loaded worker, by its calls, its event loop and its latency budgets. Pure: values
in, an order out. What one conversation or one vendor's call needs at one worker goes by a hash instead, which every front finds
alike."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence

from voiceagent.gateway.members import Member

JUST_PLACED_S = 1.0
"""A call that was placed so lately may not be in its worker's status yet."""
BUSY = 0.5
"""The pressure from which on it counts: below, it is noise."""
SHEDDING = 0.25
"""The load that each step of shedding counts for, as a share of the places."""


def load(member: Member, just_placed: int = 0) -> float:
    """The load of a worker: its calls as a share of its places, and more where its event loop or its budgets suffer. From 1 on
    it is full."""
    status = member.status
    if not status.places:
        return 1.0
    calls = (status.calls + status.waiting + just_placed) / status.places
    return calls + max(0.0, status.pressure - BUSY) + SHEDDING * status.sheds


def by_load(members: Sequence[Member], just_placed: Mapping[int, int] | None = None, region: str = "") -> list[Member]:
    """The workers to which a new call may go, the best first: of the caller's region, not under pressure, least loaded. Those
    that take no calls come last, the ones that load their engines at the very end: they say why."""
    placed = just_placed or {}

    def rank(member: Member) -> tuple[int, bool, bool, float, int]:
        taken = placed.get(member.number, 0)
        phase = ("ready", "draining", "loading").index(member.status.phase) if not member.takes_calls else -1
        elsewhere = bool(region) and member.region != region
        return phase, elsewhere, member.status.pressure >= 1.0, load(member, taken), member.number

    return sorted(members, key=rank)


def by_hash(members: Sequence[Member], key: bytes) -> list[Member]:
    """The workers in an order that belongs to the key (rendezvous hashing): it changes only where a worker comes or goes. Those
    that take no calls come last."""

    def weight(member: Member) -> bytes:
        return hashlib.blake2b(key, digest_size=8, salt=member.number.to_bytes(2, "big")).digest()

    return sorted(members, key=lambda member: (not member.takes_calls, weight(member)))


class JustPlaced:
    """Counts the calls that were placed a moment ago, so that many that come at once are spread."""

    def __init__(self) -> None:
        self._placed: deque[tuple[float, int]] = deque()

    def add(self, number: int, now_s: float) -> None:
        """A call was placed at this worker."""
        self._placed.append((now_s, number))

    def counts(self, now_s: float) -> Mapping[int, int]:
        """The calls of the last moment, by worker."""
        while self._placed and self._placed[0][0] <= now_s - JUST_PLACED_S:
            self._placed.popleft()
        found: dict[int, int] = {}
        for _, number in self._placed:
            found[number] = found.get(number, 0) + 1
        return found
