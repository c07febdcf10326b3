"""The transfer of a vendor's call: its stream ends, and the vendor is told whom to dial when it asks what comes next."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from voiceagent.telephone.handover import TRANSFERRED
from voiceagent.telephone.streams.follow_ups import FollowUps
from voiceagent.telephone.streams.stream_leg import StreamLeg

log = logging.getLogger(__name__)


class StreamTransfers:
    """Of one stream."""

    def __init__(self, follow_ups: FollowUps, ticket: str, targets: Mapping[str, str]) -> None:
        self._follow_ups = follow_ups
        self._ticket = ticket
        self._targets = targets
        self._leg: StreamLeg | None = None

    def begin(self, leg: StreamLeg) -> None:
        """The stream has come."""
        self._leg = leg
        self._follow_ups.began(self._ticket)
        leg.put_through = self.put_through

    def ended(self) -> None:
        """The stream is over."""
        self._follow_ups.ended(self._ticket, time.monotonic())

    async def put_through(self, name: str) -> str:
        """Transfer the call to somebody of the settings; why that cannot be, or nothing. Whether they take it is told to the
        vendor's next question."""
        target = self._targets.get(name)
        if target is None:
            return f"there is nobody called {name!r}"
        leg = self._leg
        if leg is None or not self._follow_ups.dial(self._ticket, target, refuses_recording=leg.facts.refuses_recording):
            return "the call is not known any more"
        log.info("a call is transferred to %s", name)
        leg.end(TRANSFERRED)
        return ""
