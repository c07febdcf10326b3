"""The base of all telephone legs: a vendor's stream, Asterisk or SIP. It has the caller and the called, the keys as the client's
events, and a transfer, with the colleague's briefing and the end reasons."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol

from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.leg import InboundFrame, Leg
from voiceagent.media.playout import Playout
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.keys import KeyRule, PhoneClient
from voiceagent.telephone.messages import CallFacts

TRANSFERRED = "transferred"
"""The end reason of a call whose caller speaks to somebody else from now on."""

CALLER_HUNG_UP = "caller_hung_up"
"""The failure of such a transfer, and the end reason of the call with the colleague."""

NO_TRANSFERS = "this line cannot transfer calls"
"""The failure of a transfer where a leg cannot transfer."""


class ColleagueBriefing(Protocol):
    """The agent's side of a warm transfer: summarise the conversation, brief the colleague, say goodbye."""

    async def summary(self) -> str:
        """The summary for the colleague; takes bounded time and raises nothing."""
        ...

    async def brief(self, playout: Playout, summary: str, key: str) -> None:
        """Put the summary, in the agent's voice, into the queue of the colleague's leg as reply 0, and ask for the key that takes
        the call where there is one. Raises nothing."""
        ...

    async def say_caller_left(self, playout: Playout) -> None:
        """Put into the queue of the colleague's leg, as reply 1, that the caller has hung up. Works after the call's end, too.
        Raises nothing."""
        ...

    def say_connected(self) -> None:
        """Tell the caller, and whoever hears the agent besides, that they are connected; the call ends with it."""
        ...


WATCH_S = 0.5


class PhoneLeg(Leg):
    """Implements `Leg`, but for its connection."""

    def __init__(self, facts: CallFacts) -> None:
        self.kind = LegKind.TELEPHONE
        self.cleaner = AudioCleaner()
        self.playout = Playout()
        self.client = PhoneClient()
        self._facts = facts
        self._inbound = InboundFrames(self.cleaner, is_telephone=True)
        self._tasks = TaskOwner()
        self._end_reason = ""
        self._loop = asyncio.get_running_loop()
        self._watch: asyncio.TimerHandle | None = None

    @property
    def facts(self) -> CallFacts:
        """The caller and the called."""
        return self._facts

    def refuse_recording(self) -> None:
        """Note that the caller has refused to be recorded: that holds when the call comes back from a transfer."""
        self._facts = replace(self._facts, refuses_recording=True)

    def on_key(self, key: str, do: Callable[[], None]) -> None:
        """Do this where the caller presses such a key alone and was asked for no number."""
        self.client.keys.on_key(key, do)

    def collect_keys(self, rule: KeyRule) -> None:
        """End the next number that the caller keys in by this rule."""
        self.client.keys.collect(rule)

    @property
    @abstractmethod
    def can_transfer(self) -> bool:
        """True if `transfer` can work."""

    @abstractmethod
    async def transfer(self, name: str, briefing: ColleagueBriefing) -> str:
        """Transfer the call to somebody of the settings, briefed where the transfer is warm; why that failed, or nothing."""

    @property
    def has_hung_up_waiting(self) -> bool:
        """True if the caller hung up while they waited to be bridged with a colleague."""
        return False

    def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg.frames`."""
        return self._inbound.read()

    def client_events(self) -> AsyncIterator[str]:
        """The keys that the caller pressed, as client events."""
        return self.client.events()

    def send_event(self, event: JsonObject) -> None:
        """A telephone shows no events."""

    @property
    def end_reason(self) -> str:
        """The cause of the connection's end: hangup (by the other side), transferred, closed (by us), lost (it broke, or the
        other side reports an error), abuse. Empty while it is up."""
        return self._end_reason

    def end(self, reason: str) -> None:
        """The connection is over; see `end_reason`. A later call changes nothing."""
        if not self._end_reason:
            self._end_reason = reason
            if self._watch is not None:
                self._watch.cancel()
            self._stop()
            self.leave()

    def _keep_watch(self) -> None:
        """Look at the connection now and then, until its end."""
        self._look(self._loop.time())
        if not self._end_reason:
            self._watch = self._loop.call_later(WATCH_S, self._keep_watch)

    @abstractmethod
    def _look(self, now_s: float) -> None:
        """End the connection if it is lost. `now_s` is the loop's clock."""

    @abstractmethod
    def _stop(self) -> None:
        """Take and send no more audio."""

    def leave(self) -> None:
        """No call reads this leg any more. May be called twice."""
        self.client.end()
        self._inbound.end()

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        return {
            "heard_frames_dropped": self._inbound.dropped,
            "cleaning_failed": self.cleaner.failures,
            "events_dropped_in": self.client.dropped,
        }

    @property
    def drops(self) -> dict[str, int]:
        """See `Leg.drops`."""
        return {"heard frames": self._inbound.dropped, "client events": self.client.dropped}
