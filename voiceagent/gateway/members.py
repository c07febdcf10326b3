"""The workers that live: where each takes HTTP, and how it stood when it last told. `Members` is what the front needs of them;
`LinkedMembers` is its implementation for the workers of one machine, whose links to the front say when they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from weakref import WeakValueDictionary

from voiceagent.gateway.messages import WorkerStatus


@dataclass(frozen=True, slots=True)
class Member:
    """A worker that lives."""

    number: int
    address: str
    """The address where it takes HTTP: `unix:PATH`, or `http://HOST:PORT`."""
    status: WorkerStatus = field(default_factory=WorkerStatus)
    region: str = ""
    """The label of the place where it runs."""

    @property
    def takes_calls(self) -> bool:
        """True if a new call may be placed here."""
        return self.status.phase == "ready" and not self.status.reason

    @property
    def has_calls(self) -> bool:
        """True if it may have calls: one that is loading has none yet."""
        return self.status.phase != "loading"


class Members(Protocol):
    """The workers that live."""

    def living(self) -> Sequence[Member]:
        """All of them, by their numbers. It is asked for each request, so it answers from memory."""
        ...

    def lost(self, member: Member) -> None:
        """A worker did not take a connection: it is not to be asked again until it tells of itself."""
        ...

    def vanishing(self, address: str) -> asyncio.Event:
        """The event that the machine of the worker at this address has vanished: its connections do not end by themselves."""
        ...


class LinkedMembers:
    """The workers whose links are up. Implements `Members`."""

    def __init__(self) -> None:
        self._by_number: dict[int, Member] = {}
        self._vanishing: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    def living(self) -> Sequence[Member]:
        """See `Members`."""
        return [self._by_number[number] for number in sorted(self._by_number)]

    def lost(self, member: Member) -> None:
        """See `Members`. Another process of the same number is not meant."""
        known = self._by_number.get(member.number)
        if known is not None and known.address == member.address:
            del self._by_number[member.number]

    def vanishing(self, address: str) -> asyncio.Event:
        """See `Members`."""
        return self._vanishing.setdefault(address, asyncio.Event())

    def vanished(self, member: Member) -> None:
        """The machine of a worker acknowledges nothing any more."""
        if (event := self._vanishing.pop(member.address, None)) is not None:
            event.set()

    def came(self, member: Member) -> None:
        """A worker's link is up."""
        self._by_number[member.number] = member

    def told(self, member: Member, status: WorkerStatus) -> Member:
        """A worker tells how it stands; returns it with that."""
        now = replace(member, status=status)
        self._by_number[member.number] = now
        return now
