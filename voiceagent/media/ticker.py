"""One timer for all paced legs of an event loop. It fires at absolute times, so nothing drifts. Legs are spread over the 20 ms of
a frame, so that their work comes in small portions and not all at once. A leg with nothing to say rests: it costs no wake-ups,
and is due at once when there is something to say."""

from __future__ import annotations

import asyncio

from voiceagent.audio.format import FRAME_MS

PHASES = 4
"""A frame is divided into this many slots; each group of legs is woken in one of them."""
SLOT_S = FRAME_MS / 1000 / PHASES

_tickers: dict[asyncio.AbstractEventLoop, Ticker] = {}
"""The tickers that have seats."""


class Seat:
    """A leg's place: `tick` returns once a frame is due. Time is counted in slots since the ticker began. Give the place up with
    `leave`."""

    __slots__ = ("_earliest", "_left", "_newest", "_resting", "_ticker", "_waiter", "slot")

    def __init__(self, ticker: Ticker, slot: int) -> None:
        self.slot = slot
        """The slot in which it is due next."""
        self._ticker = ticker
        self._newest = -1
        self._left = False
        self._resting = False
        self._earliest = 0
        self._waiter: asyncio.Future[None] | None = None

    async def tick(self, after: int) -> int:
        """Wait until a frame is due in a slot later than `after`; returns the newest such slot. A frame is due each `PHASES`
        slots, also while nobody waits. Returns at once when the seat is left."""
        if self._newest <= after and not self._left:
            self._waiter = self._ticker.loop.create_future()
            await self._waiter
        return self._newest

    async def rest(self, earliest: int, until: int) -> int:
        """Like `tick`, but no frame is due before slot `until`, unless `hurry` is called; then none is due before `earliest`."""
        if self._left or self._newest >= until:
            return self._newest
        self._ticker.move(self, until)
        self._resting, self._earliest = True, earliest
        try:
            return await self.tick(self._newest)
        finally:
            self._resting = False

    def hurry(self) -> None:
        """There is something to say. A seat that rests is due now, or once its last frame is over; from then on each frame is
        due."""
        if not self._resting or self._left:
            return
        self._resting = False
        now = self._ticker.now
        if now < self._earliest:
            self._ticker.move(self, self._earliest)
        else:
            self._ticker.move(self, now + PHASES)
            self.due(now)

    def leave(self) -> None:
        """The leg is gone. May be called twice."""
        self._left = True
        self._ticker.remove(self)
        self._wake()

    def due(self, slot: int) -> None:
        """A frame is due in `slot`."""
        self._newest = slot
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Ticker:
    """The timer of one event loop; `of_running_loop` finds it. It runs while there are seats, and fires only for seats that are
    due."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._agenda: dict[int, dict[Seat, None]] = {}
        """The seats that are due, by slot."""
        self._timer: asyncio.TimerHandle | None = None
        self._armed = 0
        """The slot that the timer waits for."""
        self._origin_s = 0.0

    @classmethod
    def of_running_loop(cls) -> Ticker:
        """The ticker that all legs of the running event loop share."""
        loop = asyncio.get_running_loop()
        return _tickers.get(loop) or cls(loop)

    @property
    def seats(self) -> int:
        """The number of seats."""
        return sum(map(len, self._agenda.values()))

    @property
    def now(self) -> int:
        """The slot that has begun."""
        return int((self.loop.time() - self._origin_s) / SLOT_S)

    def seat(self) -> Seat:
        """A place in the emptiest group; its first frame is due within 20 ms."""
        if not self._agenda:
            _tickers[self.loop] = self
            self._origin_s = self.loop.time()
            slot = 0
        else:
            groups = [0] * PHASES
            for due, seats in self._agenda.items():
                groups[due % PHASES] += len(seats)
            slot = min(range(self.now + 1, self.now + 1 + PHASES), key=lambda due: groups[due % PHASES])
        seat = Seat(self, slot)
        self._agenda.setdefault(slot, {})[seat] = None
        self._arm()
        return seat

    def move(self, seat: Seat, slot: int) -> None:
        """The seat is due in `slot`, and not before it."""
        self._take_out(seat)
        seat.slot = slot
        self._agenda.setdefault(slot, {})[seat] = None
        self._arm()

    def remove(self, seat: Seat) -> None:
        """Called by `Seat.leave`."""
        self._take_out(seat)
        if self._agenda:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        _tickers.pop(self.loop, None)

    def _take_out(self, seat: Seat) -> None:
        seats = self._agenda.get(seat.slot, {})
        seats.pop(seat, None)
        if not seats:
            self._agenda.pop(seat.slot, None)

    def _arm(self) -> None:
        """Set the timer for the seat that is due first. A timer that fires too early only looks again."""
        first = min(self._agenda)
        if self._timer is not None:
            if self._armed <= first:
                return
            self._timer.cancel()
        self._armed = first
        self._timer = self.loop.call_at(self._origin_s + first * SLOT_S, self._fire)

    def _fire(self) -> None:
        self._timer = None
        elapsed_s = self.loop.time() - self._origin_s
        now = max(self._armed, int(elapsed_s / SLOT_S))
        for slot in sorted(slot for slot in self._agenda if slot <= now):
            newest = now - (now - slot) % PHASES
            for seat in self._agenda.pop(slot):
                seat.slot = newest + PHASES
                self._agenda.setdefault(seat.slot, {})[seat] = None
                seat.due(newest)
        if self._agenda:
            self._arm()
