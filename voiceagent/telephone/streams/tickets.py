"""A stream's admission. A webhook that was checked gets a ticket, and the stream that brings the ticket is that call's. A ticket
is good for one stream and for one minute, so a ticket in a log opens nothing later."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from voiceagent.telephone.messages import CallFacts

VALID_S = 60.0
MAX_OPEN = 256
"""If there are more, the oldest is dropped: its stream never came."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is known of a call from its webhook."""

    vendor: str
    facts: CallFacts
    until_s: float


class Tickets:
    """The tickets whose streams have not come. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Ticket] = OrderedDict()

    def issue(self, vendor: str, facts: CallFacts, now_s: float) -> str:
        """A new ticket, which the stream's address ends with."""
        name = secrets.token_urlsafe(24)
        self._open[name] = Ticket(vendor, facts, now_s + VALID_S)
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return name

    def is_open(self, name: str, now_s: float) -> bool:
        """Whether a stream may still come with it."""
        ticket = self._open.get(name)
        return ticket is not None and ticket.until_s >= now_s

    def take(self, name: str, vendor: str, now_s: float) -> CallFacts | None:
        """The facts that it was issued for; None if it is unknown, used, too old or another vendor's."""
        ticket = self._open.pop(name, None)
        if ticket is None or ticket.vendor != vendor or ticket.until_s < now_s:
            return None
        return ticket.facts
