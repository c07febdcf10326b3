"""A stream's admission. A webhook that was checked gets a ticket, and the stream that brings the ticket is that call's. A ticket
is good for one stream and for one minute, so a ticket in a log opens nothing later. Twilio, SignalWire and Plivo sign no time, so
a captured webhook stays valid for ever: it must not open a second call. But a vendor that got no answer in time sends its webhook
again, and must get the same ticket."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from voiceagent.telephone.messages import CallFacts

MAX_OPEN = 256
"""If there are more, the oldest is dropped: its stream never came."""
REMEMBERED_S = 86_400.0
MAX_REMEMBERED = 32_768
"""Two a call: its id, and what was signed. They take 8 MB."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The facts of a call from its webhook."""

    vendor: str
    facts: CallFacts
    until_s: float


class Tickets:
    """The tickets whose streams have not come. Times are seconds of any one clock."""

    def __init__(self, valid_s: float) -> None:
        self._valid_s = valid_s
        self._open: OrderedDict[str, Ticket] = OrderedDict()

    def issue(self, vendor: str, facts: CallFacts, now_s: float) -> str:
        """A new ticket, which the stream's address ends with."""
        name = secrets.token_urlsafe(24)
        self._open[name] = Ticket(vendor, facts, now_s + self._valid_s)
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return name

    def is_open(self, name: str, now_s: float) -> bool:
        """True while a stream may still come with the ticket."""
        ticket = self._open.get(name)
        return ticket is not None and ticket.until_s >= now_s

    def take(self, name: str, vendor: str, now_s: float) -> CallFacts | None:
        """The facts that it was issued for; None if it is unknown, used, too old or another vendor's."""
        ticket = self._open.pop(name, None)
        if ticket is None or ticket.vendor != vendor or ticket.until_s < now_s:
            return None
        return ticket.facts


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The answer to a webhook."""

    ticket: str
    until_s: float
    """The time at which it is forgotten, in seconds of the caller's clock."""


class AnsweredWebhooks:
    """The webhooks of the last day. Times are seconds of any one clock."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        """At most `most` keys are remembered; the oldest is forgotten first."""
        self._most = most
        self._answers: OrderedDict[bytes, WebhookAnswer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def ticket(self, vendor: str, call_id: str, signed: str, now_s: float) -> str:
        """The ticket that a webhook of this call, or this very webhook, was answered with. Empty if there was none."""
        while self._answers and next(iter(self._answers.values())).until_s < now_s:
            self._answers.popitem(last=False)
        found = (self._answers.get(key) for key in _keys(vendor, call_id, signed))
        return next((answer.ticket for answer in found if answer is not None), "")

    def was_signed(self, vendor: str, signed: str) -> bool:
        """True if this very webhook was answered before."""
        return _key(vendor, "signed", signed) in self._answers

    def remember(self, vendor: str, call_id: str, signed: str, ticket: str, now_s: float) -> None:
        """A webhook was answered with a ticket."""
        for key in _keys(vendor, call_id, signed):
            self._answers.setdefault(key, WebhookAnswer(ticket, now_s + REMEMBERED_S))
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)


def _keys(vendor: str, call_id: str, signed: str) -> tuple[bytes, ...]:
    """A call without an id is known only by what was signed."""
    return (*((_key(vendor, "call", call_id),) if call_id else ()), _key(vendor, "signed", signed))


def _key(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()
