"""The end of a vendor's stream, and the transfer that may follow it. A vendor asks what comes next once a stream has ended. The
answer dials the person to whom the caller is transferred, or hangs up."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from voiceagent.telephone.messages import CallFacts

VALID_S = 60.0
"""The time after the webhook, or after its stream's end, within which a vendor may ask what follows."""
DIALLED_S = 4 * 3600.0
"""The time within which a vendor may report how a dialled transfer went: it does so at the end of the talk with that person."""
MAX_OPEN = 1024
"""The oldest that has no stream goes first."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class StreamEnd:
    """The continuation of a call after its stream."""

    vendor: str
    facts: CallFacts
    until_s: float
    target: str = ""
    """The person to dial; empty: nobody."""
    is_streaming: bool = False
    back: str = ""
    """The ticket of the stream by which the agent takes the call again; empty: it has not been asked to."""


class StreamTransfers:
    """One for each webhook, by the name of its ticket. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, StreamEnd] = OrderedDict()

    def expect(self, name: str, vendor: str, facts: CallFacts, now_s: float) -> None:
        """A webhook was answered."""
        for old in [old for old, one in self._open.items() if not one.is_streaming and one.until_s < now_s]:
            del self._open[old]
        self._open[name] = StreamEnd(vendor, facts, now_s + VALID_S)
        if len(self._open) > MAX_OPEN:
            idle = next((old for old, one in self._open.items() if not one.is_streaming), next(iter(self._open)))
            del self._open[idle]

    def began(self, name: str) -> None:
        """Its stream has come."""
        if name in self._open:
            self._open[name].is_streaming = True

    def ended(self, name: str, now_s: float) -> None:
        """Its stream is over."""
        if name in self._open:
            one = self._open[name]
            one.is_streaming, one.until_s = False, max(one.until_s, now_s + VALID_S)

    def dial(self, name: str, target: str, *, refuses_recording: bool = False) -> bool:
        """Somebody is to be dialled when the stream ends. False where the call is not known any more."""
        if name in self._open:
            one = self._open[name]
            one.target, one.facts = target, replace(one.facts, refuses_recording=refuses_recording)
        return name in self._open

    def find(self, name: str, vendor: str, now_s: float) -> StreamEnd | None:
        """The continuation of a call; None where it has none."""
        found = self._open.get(name)
        if found is None or found.vendor != vendor or (not found.is_streaming and found.until_s < now_s):
            return None
        return found

    def dialled(self, name: str, now_s: float) -> None:
        """The vendor got the number to dial. It may ask that again, if our answer did not come, and reports how it went."""
        if name in self._open:
            self._open[name].is_streaming, self._open[name].until_s = False, now_s + DIALLED_S

    def forget(self, name: str) -> None:
        """Nothing more follows."""
        self._open.pop(name, None)


class StreamTransfer:
    """The transfer of one stream's call."""

    def __init__(self, transfers: StreamTransfers, ticket: str, targets: Mapping[str, str]) -> None:
        """`targets` are numbers or SIP addresses by name."""
        self._transfers = transfers
        self._ticket = ticket
        self._targets = targets

    def began(self) -> None:
        """The stream has come."""
        self._transfers.began(self._ticket)

    def ended(self) -> None:
        """The stream is over."""
        self._transfers.ended(self._ticket, time.monotonic())

    def prepare(self, name: str, facts: CallFacts) -> str:
        """Have the vendor dial somebody of the settings once the stream ends; why that cannot be, or nothing. The vendor's next
        question reports whether they took the call."""
        target = self._targets.get(name)
        if target is None:
            return f"there is nobody called {name!r}"
        if not self._transfers.dial(self._ticket, target, refuses_recording=facts.refuses_recording):
            return "the call is not known any more"
        log.info("a call is transferred to %s", name)
        return ""
