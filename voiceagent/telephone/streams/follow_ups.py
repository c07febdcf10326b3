"""What follows the stream of a vendor's call. A vendor asks what comes next once a stream has
ended; the answer dials the person that the caller is to be put through to, or hangs up."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from voiceagent.telephone.messages import CallFacts

VALID_S = 60.0
"""So long after the webhook, or after its stream's end, a vendor may ask what follows."""
DIALLED_S = 4 * 3600.0
"""So long after we answered with whom to dial a vendor may say how that went: at the end of the talk with that person."""
MAX_OPEN = 1024
"""The oldest that has no stream goes first."""

PutThrough = Callable[[str], Awaitable[str]]
"""Puts a call through to somebody of the settings by name; why that failed, or nothing."""


@dataclass(slots=True)
class FollowUp:
    """What follows a stream."""

    vendor: str
    facts: CallFacts
    until_s: float
    target: str = ""
    """Whom to dial; empty: nobody."""
    is_streaming: bool = False
    back: str = ""
    """The ticket of the stream by which the agent takes the call again; empty: it has not been asked to."""


class FollowUps:
    """One for each webhook, by the name of its ticket. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, FollowUp] = OrderedDict()

    def expect(self, name: str, vendor: str, facts: CallFacts, now_s: float) -> None:
        """A webhook was answered."""
        for old in [old for old, one in self._open.items() if not one.is_streaming and one.until_s < now_s]:
            del self._open[old]
        self._open[name] = FollowUp(vendor, facts, now_s + VALID_S)
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

    def find(self, name: str, vendor: str, now_s: float) -> FollowUp | None:
        """What follows; None where nothing does."""
        found = self._open.get(name)
        if found is None or found.vendor != vendor or (not found.is_streaming and found.until_s < now_s):
            return None
        return found

    def dialled(self, name: str, now_s: float) -> None:
        """The vendor was told whom to dial. It may ask that again, if our answer did not come, and tells how it went."""
        if name in self._open:
            self._open[name].is_streaming, self._open[name].until_s = False, now_s + DIALLED_S

    def forget(self, name: str) -> None:
        """Nothing more follows."""
        self._open.pop(name, None)
