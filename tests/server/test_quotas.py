"""What one client may take of the server, and that it is its own."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.server.calls.quotas import Client, Place, Quotas
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import QuotaSettings

ONE, OTHER = Client("key 1"), Client("key 2")


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def quotas(clock: Clock | None = None, *, max_calls: int = 16, keys: int = 2, **settings: float) -> Quotas:
    return Quotas(QuotaSettings(**settings), max_calls, keys=lambda: keys, clock=clock or Clock())  # type: ignore[arg-type]  # fields of several types


async def half_open(share: Quotas, client: Client) -> Place:
    """A call that was answered."""
    place = share.take(client)
    await place.connect()
    return place


async def refused(share: Quotas, client: Client, code: str) -> None:
    with pytest.raises(Problem) as problem:
        await half_open(share, client)
    assert (problem.value.status, problem.value.code) == (429, code)
    assert problem.value.retry_after_s


async def test_no_key_takes_all_places_where_there_are_several_keys() -> None:
    share = quotas()
    for _ in range(12):
        (await half_open(share, ONE)).connected()
    await refused(share, ONE, "too_many_calls")
    (await half_open(share, OTHER)).connected()


async def test_the_only_key_may_take_all_places() -> None:
    share = quotas(keys=1)
    for _ in range(16):
        (await half_open(share, ONE)).connected()
    await half_open(share, ONE)


async def test_calls_that_never_connect_are_few_and_do_not_keep_others_out() -> None:
    share = quotas()
    places = [await half_open(share, ONE) for _ in range(4)]
    await refused(share, ONE, "too_many_connecting")
    await half_open(share, OTHER)
    waiting = asyncio.create_task(half_open(share, ONE))
    await asyncio.sleep(0)
    places[0].connected()
    (await waiting).release()
    places[1].release()
    await half_open(share, ONE)


async def test_offers_come_at_a_bounded_rate() -> None:
    clock = Clock()
    share = quotas(clock, max_calls=5, offers_per_s=2)
    for _ in range(10):
        (await half_open(share, ONE)).release()
    await refused(share, ONE, "too_many_offers")
    (await half_open(share, OTHER)).release()
    clock.now_s += 0.5
    (await half_open(share, ONE)).release()
    await refused(share, ONE, "too_many_offers")


async def test_minutes_are_charged_while_calls_last_and_come_back_over_the_day() -> None:
    clock = Clock()
    share = quotas(clock, minutes_a_day=10)
    place = await half_open(share, ONE)
    clock.now_s += 60  # nothing is charged for what is not connected
    place.connected()
    clock.now_s += 300
    assert place.has_time_left()
    clock.now_s += 310
    assert not place.has_time_left()
    place.release()
    await refused(share, ONE, "minutes_used")
    (await half_open(share, OTHER)).release()
    clock.now_s += 3600
    (await half_open(share, ONE)).release()


async def test_callers_who_wait_for_a_line_are_not_half_open() -> None:
    share = quotas(max_calls=4, keys=1)
    waiting = [share.take(ONE) for _ in range(9)]
    for place in waiting[:4]:
        await place.connect()
    for place in waiting:
        place.release()
    await half_open(share, ONE)
