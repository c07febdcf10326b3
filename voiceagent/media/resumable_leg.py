"""A leg that outlives its connection: the connection is a leg of its own, and another one may take its place. What waits to be
said stays here meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol, runtime_checkable

from typing_extensions import override

from voiceagent.json_types import JsonObject
from voiceagent.media.leg import DeliverAudio, InboundFrame, Leg, LegWrapper
from voiceagent.media.outgoing_events import TOO_SLOW
from voiceagent.media.playout import Playout
from voiceagent.media.websocket.event_audio import Encoding
from voiceagent.task_owner import TaskOwner

LOST, NOT_CONNECTED = "lost", "not_connected"
SILENT_MS = 1000.0
"""A WebRTC client sends a packet every 20 ms. After so long a time without a sign of life its connection is probably lost."""


@runtime_checkable
class ConnectionLeg(Leg, Protocol):
    """A leg that another one may replace."""

    @property
    def alive_ms(self) -> float:
        """The last sign of life of the other side, in milliseconds of `time.monotonic`. Infinite: that says nothing."""
        ...

    @property
    def takes_our_events(self) -> bool:
        """Returns whether the client gets `voiceagent.resume`, and so may come back."""
        ...

    def play(self, playout: Playout) -> None:
        """Send this playout's audio from now on, in place of its own."""
        ...

    def goes_elsewhere(self) -> None:
        """The call goes on at another server: `close` tells the client so, where it can."""
        ...

    def replaced(self) -> None:
        """Another connection has taken its place: send and take nothing more, and tell the client why it is closed."""
        ...


class ResumableLeg(LegWrapper):
    """A leg over one connection after the other. While the last one is lost, frames and events wait for the next."""

    def __init__(self, first: ConnectionLeg) -> None:
        super().__init__(first)
        self.on_lost: Callable[[float], None] = lambda alive_ms: None
        """Called when the connection is lost, with its last sign of life (`ConnectionLeg.alive_ms`)."""
        self.on_replaced: Callable[[], None] = lambda: None
        """Called when another connection is about to take the place of one that is up."""
        self.on_slow: Callable[[], None] = lambda: None
        """Called when a connection has ended because its client reads too slowly."""
        self._leg: ConnectionLeg = first
        self._is_up = True
        self.lost_s: float | None = None
        """The time of the loss of the connection, on the event loop's clock; None while it is up."""
        self._was_connected = False
        """A client that never was, or takes no events of ours, has no token to come back with."""
        self._changed = asyncio.Event()
        self._deliver: DeliverAudio | None = None
        self._encodings: tuple[Encoding, Encoding] | None = None
        self._counters: Counter[str] = Counter()
        self._drops: Counter[str] = Counter()
        self._closing = TaskOwner()

    @property
    def may_come_back(self) -> bool:
        """True if the client has a token, and so may come back."""
        return self._was_connected and self._leg.takes_our_events

    @property
    def seems_lost(self) -> bool:
        """True if the connection is lost, or says nothing any more. A client notices it seconds before the server does."""
        return not self._is_up or time.monotonic() * 1000.0 - self._leg.alive_ms >= SILENT_MS

    def goes_elsewhere(self) -> None:
        """See `ConnectionLeg.goes_elsewhere`."""
        self._leg.goes_elsewhere()

    def take(self, leg: ConnectionLeg) -> None:
        """Go on over this connection, which is up."""
        if self._is_up:
            self.on_replaced()
            self._leg.replaced()
            self._lose(self._leg)
        leg.cleaner.use(self.cleaner.settings)
        self._leg, self._is_up, self.lost_s = leg, True, None
        if self._deliver is not None:
            leg.deliver_audio(self._deliver)
        if self._encodings is not None:
            leg.use(*self._encodings)
        leg.play(self.playout)
        self._changed.set()

    def _lose(self, leg: ConnectionLeg) -> None:
        self._is_up, self.lost_s = False, asyncio.get_running_loop().time()
        self._counters.update(leg.counters)
        self._drops.update(leg.drops)
        self.playout.recall()
        self._closing.start_alone(leg.close(), "end of a lost connection")
        self.on_lost(leg.alive_ms)

    @override
    async def frames(self) -> AsyncIterator[InboundFrame]:
        """The caller's audio. It ends when a connection ends that was not lost."""
        while True:
            leg = self._leg
            async for frame in leg.frames():
                yield frame
            if leg is self._leg and self._is_up:
                if leg.end_reason == TOO_SLOW:
                    self.on_slow()
                if leg.end_reason not in (LOST, TOO_SLOW) or not self.may_come_back:
                    return
                self._lose(leg)
            await self._next(leg)

    @override
    async def client_events(self) -> AsyncIterator[str]:
        while True:
            leg = self._leg
            async for text in leg.client_events():
                yield text
            await self._next(leg)

    async def _next(self, leg: Leg) -> None:
        while self._leg is leg:
            self._changed.clear()
            await self._changed.wait()

    @override
    def send_event(self, event: JsonObject) -> None:
        if self._is_up:
            self._leg.send_event(event)

    @override
    def deliver_audio(self, deliver: DeliverAudio) -> None:
        self._deliver = deliver
        super().deliver_audio(deliver)

    @override
    def use(self, taken: Encoding, given: Encoding) -> None:
        self._encodings = taken, given
        super().use(taken, given)

    @property
    @override
    def end_reason(self) -> str:
        reason = self._leg.end_reason
        return NOT_CONNECTED if reason == LOST and not self._was_connected else reason

    @property
    @override
    def counters(self) -> Mapping[str, int]:
        return self._counters + Counter(self._leg.counters if self._is_up else {})

    @property
    @override
    def drops(self) -> Mapping[str, int]:
        return self._drops + Counter(self._leg.drops if self._is_up else {})

    @override
    async def wait_connected(self) -> bool:
        self._was_connected = await self._leg.wait_connected() or self._was_connected
        return self._was_connected

    @override
    async def close(self) -> None:
        await self._leg.close()
        await self._closing.close()
