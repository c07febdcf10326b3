"""The ticker on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from voiceagent.media.ticker import PHASES, SLOT_S, Seat, Ticker


class Clock:
    """The part of an event loop that the ticker uses, in virtual time."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, callback: Callable[[], None]) -> Any:
        entry = (when_s, callback)
        self.timers.append(entry)

        class Timer:
            def cancel(_self) -> None:
                if entry in self.timers:
                    self.timers.remove(entry)

        return Timer()

    def create_future(self) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    def run_until(self, when_s: float) -> int:
        """Let time pass; how often the timer fired."""
        fired = 0
        while self.timers and min(self.timers)[0] <= when_s:
            entry = min(self.timers)
            self.timers.remove(entry)
            self.now_s = max(self.now_s, entry[0])
            entry[1]()
            fired += 1
        self.now_s = max(self.now_s, when_s)
        return fired


def ticker_on(clock: Clock) -> Ticker:
    return Ticker(clock)  # type: ignore[arg-type]  # what a ticker uses of a loop


async def ticked(seat: Seat, after: int) -> int:
    async with asyncio.timeout(5):
        return await seat.tick(after)


async def test_every_seat_is_woken_once_a_frame_by_one_timer() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seats = [ticker.seat() for _ in range(20)]
    assert len(clock.timers) == 1
    first_s = clock.now_s
    fired = clock.run_until(first_s + 1.0 - SLOT_S / 2)
    assert fired == 50 * PHASES
    assert len(clock.timers) == 1
    assert [await ticked(seat, -1) // PHASES for seat in seats] == [49] * 20


async def test_a_lone_seat_is_one_wake_up_a_frame_and_a_second_one_is_not_late() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    first = ticker.seat()
    assert clock.run_until(clock.now_s + 0.995) == 50
    second = ticker.seat()
    assert (second.slot - first.slot) % PHASES
    clock.run_until(clock.now_s + 0.02)
    before = await ticked(first, -1), await ticked(second, -1)
    assert clock.run_until(clock.now_s + 1.0 - SLOT_S / 2) == 100
    assert [await ticked(seat, -1) - slot for seat, slot in zip((first, second), before, strict=True)] == [50 * PHASES] * 2
    assert len(clock.timers) == 1


async def test_seats_are_spread_evenly_over_the_frame() -> None:
    ticker = ticker_on(Clock())
    seats = [ticker.seat() for _ in range(12)]
    assert [sum(seat.slot % PHASES == phase for seat in seats) for phase in range(PHASES)] == [3] * PHASES
    first = seats[0].slot
    for seat in [seat for seat in seats if (seat.slot - first) % PHASES == 0]:
        seat.leave()
    assert ticker.seats == 9
    assert (ticker.seat().slot - first) % PHASES == 0


async def test_times_are_absolute_however_late_the_timer_fires() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seat = ticker.seat()
    origin_s = clock.now_s
    clock.run_until(origin_s)
    clock.now_s = origin_s + 0.0237  # the loop was busy: the timers up to then fire late
    clock.run_until(clock.now_s)
    assert await ticked(seat, 0) == PHASES
    assert min(clock.timers)[0] == origin_s + 2 * PHASES * SLOT_S


async def test_after_a_stall_a_seat_is_told_the_newest_frame() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seats = [ticker.seat() for _ in range(PHASES)]
    clock.run_until(clock.now_s + 0.0199)
    clock.now_s += 10.0
    clock.run_until(clock.now_s)
    assert {await ticked(seat, 0) // PHASES for seat in seats} <= {499, 500, 501}


async def test_a_seat_that_is_left_wakes_its_leg_and_the_last_one_stops_the_timer() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seats = [ticker.seat(), ticker.seat()]
    clock.run_until(clock.now_s + 0.1)
    newest = await ticked(seats[0], -1)
    waiting = asyncio.ensure_future(ticked(seats[0], newest))
    await asyncio.sleep(0)
    seats[0].leave()
    assert await waiting == newest
    assert len(clock.timers) == 1
    seats[1].leave()
    seats[1].leave()
    assert clock.timers == []
    assert ticker.seats == 0


async def test_a_seat_that_rests_costs_nothing_until_it_is_due() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seat = ticker.seat()
    clock.run_until(clock.now_s)
    resting = asyncio.ensure_future(seat.rest(PHASES, 20 * PHASES))
    await asyncio.sleep(0)
    assert clock.run_until(clock.now_s + 0.4 - SLOT_S) <= 1, "the timer that was armed already, and then none"
    await asyncio.sleep(0)
    assert not resting.done()
    clock.run_until(clock.now_s + SLOT_S)
    assert await asyncio.wait_for(resting, 5) == 20 * PHASES
    assert clock.run_until(clock.now_s + 1.0) == 50, "and ticks again"


async def test_a_seat_that_hurries_is_due_at_once_and_each_frame_from_then_on() -> None:
    clock = Clock()
    ticker = ticker_on(clock)
    seat, other = ticker.seat(), ticker.seat()
    origin_s = clock.now_s
    clock.run_until(origin_s + 0.101)
    resting = asyncio.ensure_future(seat.rest(PHASES, 1000))
    await asyncio.sleep(0)
    clock.run_until(origin_s + 0.1375)
    seat.hurry()
    slot = await asyncio.wait_for(resting, 5)
    assert slot == int(0.1375 / SLOT_S)
    seat.hurry()
    assert await ticked(seat, slot - 1) == slot, "it is not due twice"
    clock.run_until(origin_s + (slot + 3 * PHASES + 0.5) * SLOT_S)
    assert await ticked(seat, slot) == slot + 3 * PHASES
    assert await ticked(other, 0) % PHASES == other.slot % PHASES
    seat.leave()
    seat.hurry()
    assert ticker.seats == 1


async def test_a_seat_that_hurries_before_its_last_frame_is_over_waits_for_that() -> None:
    clock = Clock()
    seat = ticker_on(clock).seat()
    origin_s = clock.now_s
    clock.run_until(origin_s)
    resting = asyncio.ensure_future(seat.rest(PHASES, 1000))
    await asyncio.sleep(0)
    clock.run_until(origin_s + SLOT_S)
    seat.hurry()
    await asyncio.sleep(0)
    assert not resting.done()
    clock.run_until(origin_s + (PHASES + 0.5) * SLOT_S)
    assert await asyncio.wait_for(resting, 5) == PHASES
    clock.run_until(origin_s + (2 * PHASES + 0.5) * SLOT_S)
    assert await ticked(seat, PHASES) == 2 * PHASES


async def test_all_legs_of_an_event_loop_share_one_while_there_are_any() -> None:
    seat = Ticker.of_running_loop().seat()
    shared = Ticker.of_running_loop()
    assert shared.seats == 1
    seat.leave()
    assert Ticker.of_running_loop() is not shared
