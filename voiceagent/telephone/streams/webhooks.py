"""Reads a vendor's webhook, and admits the stream that it announces. The same few facts of a call stand under each vendor's
names, and only what the vendor signs is read. A webhook that was checked gets a ticket, and the stream that brings the ticket
is that call's. A ticket is good for one stream and for one minute, so a ticket in a log opens nothing later. Twilio, SignalWire
and Plivo sign no time, so a captured webhook stays valid for ever: it must not open a second call. But a vendor that got no
answer in time sends its webhook again, and must get the same ticket."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voiceagent.errors import MediaError
from voiceagent.server.calls.call_ids import marked
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.dialects import decoded, parameters_of, text
from voiceagent.telephone.streams.signatures import SignedRequest
from voiceagent.telephone.streams.vendors import Vendor

DIRECTION = ("Direction", "direction")
"""The fields with a call's direction: `inbound`, or something like `outbound-api`. Not every vendor sends one."""


def facts_of(webhook: SignedRequest, vendor: Vendor, own_numbers: Sequence[str] = ()) -> CallFacts:
    """Reads the facts of a call: the caller, the called and the parameters. The query of the webhook's address holds the
    operator's parameters, if the vendor signs it. The same holds for a stream that comes without a webhook. A call from one of
    `own_numbers` is outbound, whatever the vendor says. Raises MediaError and ValueError for a body that cannot be read."""
    in_body = webhook.method == "POST"
    query = dict(webhook.query()) if vendor.signs_query or not in_body else {}
    fields = fields_of(webhook)
    own = query if in_body or vendor.answer is None else {}
    told = () if in_body else (vendor.caller, vendor.called, vendor.call_id)
    caller = text(fields.get(vendor.caller))
    is_ours = bool(_digits(caller)) and _digits(caller) in map(_digits, own_numbers)
    return CallFacts(
        caller,
        text(fields.get(vendor.called)),
        text(fields.get(vendor.call_id)),
        parameters_of({name: value for name, value in own.items() if name not in told}),
        is_ours or any(text(said.get(name)).lower().startswith("outbound") for said in (fields, query) for name in DIRECTION),
    )


def fields_of(webhook: SignedRequest) -> Mapping[str, object]:
    """The fields of its body, or of its query if it has no body. Raises MediaError and ValueError for what cannot be read."""
    return _body(webhook) if webhook.method == "POST" else dict(webhook.query())


def unsigned_parameters(webhook: SignedRequest, vendor: Vendor) -> int:
    """The number of parameters of the address that the vendor does not sign. They are left out."""
    return 0 if vendor.signs_query or webhook.method != "POST" else len(webhook.query())


def _digits(number: str) -> str:
    """A telephone number without its + and separators, as vendors write it differently."""
    return "".join(character for character in number if character.isdigit())


def _body(webhook: SignedRequest) -> Mapping[str, object]:
    if webhook.body.lstrip()[:1] != b"{":
        return dict(webhook.form())
    try:
        return decoded(webhook.body.decode())
    except UnicodeDecodeError as error:
        raise MediaError(f"a body that is not UTF-8 at byte {error.start}") from error


# --- tickets ----------------------------------------------------------------------------------------------------------

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
        name = marked(secrets.token_urlsafe(24))
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
