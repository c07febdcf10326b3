"""One timer for all paced legs of an event loop. It fires at absolute times, so that nothing drifts; legs are spread over the
20 ms of a frame, so that their work comes in small portions and not all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

FRAME_MS = 20
PHASES = 4
"""Legs are woken in so many groups within a frame."""
SLOT_S = FRAME_MS / 1000 / PHASES

_tickers: dict[asyncio.AbstractEventLoop, Ticker] = {}
"""Those that have seats."""


class Seat:
    """A leg's place: `tick` returns once a frame is due. Leave it with `leave`."""

    __slots__ = ("_idle", "_left", "_newest", "_ticker", "_until", "_waiter", "phase")

    def __init__(self, ticker: Ticker, phase: int) -> None:
        self.phase = phase
        self._ticker = ticker
        self._newest = -1
        self._left = False
        self._waiter: asyncio.Future[None] | None = None
        self._idle: Callable[[], bool] | None = None
        self._until = 0

    async def tick(self, after: int) -> int:
        """Wait until a frame later than number `after` is due; the number of the newest that is. Numbers rise by one each
        20 ms, also while nobody waits. Returns at once when the seat is left."""
        if self._newest <= after and not self._left:
            self._waiter = self._ticker.loop.create_future()
            await self._waiter
        return self._newest

    async def rest(self, idle: Callable[[], bool], after: int, until: int) -> int:
        """Like `tick`, but wait on while `idle()` is true, up to frame number `until`."""
        if self._newest > after and (self._newest >= until or not idle()):
            return self._newest
        self._idle, self._until = idle, until
        try:
            return await self.tick(self._newest)
        finally:
            self._idle = None

    def leave(self) -> None:
        """The leg is gone. May be called twice."""
        self._left = True
        self._ticker.remove(self)
        self._wake()

    def due(self, number: int) -> None:
        """Frame `number` is due."""
        self._newest = number
        if self._idle is None or number >= self._until or not self._idle():
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Ticker:
    """The timer of one event loop; `of_running_loop` finds it. It runs while there are seats, and leaves empty groups out."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.lag_ms = 0.0
        """How late the timer fired last."""
        self._phases: tuple[dict[Seat, None], ...] = tuple({} for _ in range(PHASES))
        self._timer: asyncio.TimerHandle | None = None
        self._origin_s = 0.0
        self._slot = 0

    @classmethod
    def of_running_loop(cls) -> Ticker:
        """The one that all legs of the running event loop share."""
        loop = asyncio.get_running_loop()
        return _tickers.get(loop) or cls(loop)

    @property
    def seats(self) -> int:
        """How many there are."""
        return sum(map(len, self._phases))

    def seat(self) -> Seat:
        """A place in the emptiest group; its first frame is due within 20 ms."""
        phase = min(range(PHASES), key=lambda index: len(self._phases[index]))
        seat = Seat(self, phase)
        self._phases[phase][seat] = None
        if self._timer is None:
            _tickers[self.loop] = self
            self._origin_s, self._slot = self.loop.time(), 0
            self._arm()
        elif len(self._phases[phase]) == 1:
            self._wake_phase(phase)
        return seat

    def _wake_phase(self, phase: int) -> None:
        """The group has its first seat: the timer, which leaves empty groups out, may have to fire sooner."""
        slot = int((self.loop.time() - self._origin_s) / SLOT_S) + 1
        slot += (phase - slot) % PHASES
        if slot < self._slot and self._timer is not None:
            self._timer.cancel()
            self._slot = slot
            self._arm()

    def remove(self, seat: Seat) -> None:
        """Called by `Seat.leave`."""
        self._phases[seat.phase].pop(seat, None)
        if not self.seats and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            del _tickers[self.loop]

    def _arm(self) -> None:
        self._timer = self.loop.call_at(self._origin_s + self._slot * SLOT_S, self._fire)

    def _fire(self) -> None:
        now_s = self.loop.time()
        self.lag_ms = max(0.0, (now_s - self._origin_s - self._slot * SLOT_S) * 1000.0)
        newest = max(self._slot, int((now_s - self._origin_s) / SLOT_S))
        for slot in range(max(self._slot, newest - PHASES + 1), newest + 1):
            for seat in self._phases[slot % PHASES]:
                seat.due(slot // PHASES)
        self._slot = newest + 1
        if self.seats:
            self._slot += next(ahead for ahead in range(PHASES) if self._phases[(newest + 1 + ahead) % PHASES])
            self._arm()
