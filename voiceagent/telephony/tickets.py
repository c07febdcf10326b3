"""A stream's admission: the webhook that was checked hands out a ticket, and the stream that brings it is that call's. Each is
good for one stream and for a minute, so what a log or a proxy has seen of it opens nothing."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from voiceagent.telephony.messages import CallFacts

VALID_S = 60.0
MAX_OPEN = 256
"""The oldest goes first: a call whose stream never came."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is known of a call from its webhook."""

    vendor: str
    facts: CallFacts
    until_s: float


class Tickets:
    """Those whose streams have not come. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Ticket] = OrderedDict()

    def issue(self, vendor: str, facts: CallFacts, now_s: float) -> str:
        """A new one; what the stream's address ends with."""
        name = secrets.token_urlsafe(24)
        self._open[name] = Ticket(vendor, facts, now_s + VALID_S)
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return name

    def take(self, name: str, vendor: str, now_s: float) -> CallFacts | None:
        """What it was issued for; None where it is unknown, used, too old or another vendor's."""
        ticket = self._open.pop(name, None)
        if ticket is None or ticket.vendor != vendor or ticket.until_s < now_s:
            return None
        return ticket.facts
