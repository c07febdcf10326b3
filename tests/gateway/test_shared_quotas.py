"""Quotas over several workers: what each asks, and what the front counts, joined without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from voiceagent.gateway.messages import ToFront, line_of, read_to_front, read_to_worker
from voiceagent.gateway.shared_quotas import QuotaDesk, WorkerQuotas
from voiceagent.server.access.key_file import KeyLimits
from voiceagent.server.calls.quotas import Client, Quotas
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import QuotaSettings
from voiceagent.task_owner import TaskOwner

ONE = Client("desk", key_id="00000001")


class Joined:
    """A front and its workers. What passes between them is written and read as over a socket."""

    def __init__(self, settings: QuotaSettings, workers: int = 2) -> None:
        self.now_s = 1000.0
        self.desk = QuotaDesk(Quotas(settings, 16, keys=lambda: 2, clock=lambda: self.now_s))
        self.tasks = TaskOwner()
        self.workers = [WorkerQuotas(settings, lambda: self.now_s) for _ in range(workers)]
        for number, _ in enumerate(self.workers):
            self.link(number)

    def link(self, number: int) -> None:
        """A worker's link comes up."""
        worker = self.workers[number]

        def send(message: ToFront) -> None:
            answer = self.desk.hear(number, read_to_front(line_of(message)))
            if isinstance(answer, Awaitable):
                self.tasks.start_alone(self._later(worker, answer), "answer")
            elif answer is not None:
                asyncio.get_running_loop().call_soon(worker.answered, read_to_worker(line_of(answer)))

        worker.came_up(send)

    async def _later(self, worker: WorkerQuotas, answer: Awaitable[object]) -> None:
        worker.answered(read_to_worker(line_of(await answer)))  # type: ignore[arg-type]


async def refused(worker: WorkerQuotas, client: Client, code: str) -> None:
    with pytest.raises(Problem) as problem:
        await worker.begin(client)
    assert problem.value.code == code
    assert problem.value.retry_after_s


async def test_a_client_has_its_calls_at_all_workers_together() -> None:
    both = Joined(QuotaSettings(calls=3))
    one, two = both.workers
    places = [await one.begin(ONE), await two.begin(ONE), await one.begin(ONE)]
    for place in places:
        await place.connect()
        place.connected()
    assert await one.has_all(ONE)
    assert await two.has_all(ONE)
    await refused(two, ONE, "too_many_calls")
    await one.begin(Client("other"))
    places[0].release()
    assert not await two.has_all(ONE)
    await two.begin(ONE)


async def test_a_workers_end_gives_its_places_back() -> None:
    both = Joined(QuotaSettings(calls=2, connecting=1))
    one, two = both.workers
    await (await one.begin(ONE)).connect()
    await one.begin(ONE)
    await refused(two, ONE, "too_many_calls")
    both.desk.gone(0)
    await (await two.begin(ONE)).connect()
    await two.begin(ONE)


async def test_a_front_that_starts_anew_is_told_what_is_taken() -> None:
    both = Joined(QuotaSettings(calls=2))
    place = await both.workers[0].begin(ONE)
    await place.connect()
    place.connected()
    both.workers[0].went_down()
    other = Joined(QuotaSettings(calls=2), workers=0)
    other.workers = both.workers
    other.link(0)
    other.link(1)
    await both.workers[1].begin(ONE)
    await refused(both.workers[1], ONE, "too_many_calls")
    place.release()
    await both.workers[1].begin(ONE)


async def test_what_another_front_counted_meanwhile_is_given_back_there() -> None:
    first, second = Joined(QuotaSettings(calls=2)), Joined(QuotaSettings(calls=2), workers=0)
    second.workers = first.workers
    one, two = first.workers

    def links_to(front: Joined) -> None:
        front.link(0)
        front.link(1)

    await one.begin(ONE)
    first.desk.gone(0)
    first.desk.gone(1)
    for worker in (one, two):
        worker.went_down()
    links_to(second)
    await two.begin(ONE)
    await refused(one, ONE, "too_many_calls")
    links_to(first)
    await refused(two, ONE, "too_many_calls")
    assert not second.desk.quotas.is_full(ONE)
    links_to(second)
    await refused(two, ONE, "too_many_calls")
    assert not first.desk.quotas.is_full(ONE)


async def test_minutes_and_calls_a_minute_hold_over_all() -> None:
    both = Joined(QuotaSettings())
    one, two = both.workers
    brief = Client("brief", limits=KeyLimits(minutes_a_day=1, calls_a_minute=2))
    place = await one.begin(brief)
    assert place.has_minutes
    await place.connect()
    place.connected()
    both.now_s += 50
    assert await place.charge()
    await two.begin(brief)
    await refused(one, brief, "too_many_calls_a_minute")
    both.now_s += 30
    assert not await place.charge()
    await refused(two, brief, "minutes_used")


async def test_half_open_calls_wait_for_each_other_over_all() -> None:
    both = Joined(QuotaSettings(connecting=1))
    one, two = both.workers
    first = await one.begin(ONE)
    await first.connect()
    second = await two.begin(ONE)
    waiting = both.tasks.start(second.connect(), "second")
    await asyncio.sleep(0)
    assert not waiting.done()
    first.connected()
    await waiting


async def test_a_call_that_gave_up_waiting_leaves_nothing_half_open() -> None:
    both = Joined(QuotaSettings(connecting=1))
    one, two = both.workers
    first = await one.begin(ONE)
    await first.connect()
    second = await two.begin(ONE)
    waiting = both.tasks.start(second.connect(), "second")
    await asyncio.sleep(0)
    waiting.cancel()
    second.release()
    first.connected()
    await asyncio.wait((waiting,))
    third = await one.begin(ONE)
    await third.connect()


async def test_without_a_front_new_calls_are_refused_and_others_go_on() -> None:
    both = Joined(QuotaSettings())
    place = await both.workers[0].begin(ONE)
    both.workers[0].went_down()
    await refused(both.workers[0], ONE, "busy")
    assert await place.charge()
    both.workers[0].take_again(ONE).release()
    place.release()
