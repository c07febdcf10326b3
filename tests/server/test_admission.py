"""Who is let in, who waits, who is refused and what they are told."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.errors import ConfigError
from voiceagent.llm.engine import KvCapacity
from voiceagent.server.calls.admission import Admission
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings, QueueSettings


def admission(max_calls: int = 1, *, length: int = 0, wait_s: float = 60, kv_tokens: int = 0, context: int = 8192) -> Admission:
    queue = QueueSettings(length=length, wait_s=wait_s)
    settings = AdmissionSettings(max_calls=max_calls, context_tokens_per_call=context, kv_tokens=kv_tokens, queue=queue)
    return Admission(settings, Metrics())


async def waiting(open_one: Admission, is_there: bool = True) -> asyncio.Task[None]:
    """A caller in the queue."""
    metrics = open_one._metrics
    before = metrics.calls_waiting
    task = asyncio.create_task(open_one.admit(lambda: is_there))
    await asyncio.sleep(0)
    assert metrics.calls_waiting == before + 1
    return task


async def refused(open_one: Admission, code: str, *said: str) -> None:
    with pytest.raises(Problem) as problem:
        await open_one.admit()
    assert (problem.value.status, problem.value.code) == (503, code)
    for text in said:
        assert text in str(problem.value)
    if code != "server_stopping":
        assert problem.value.retry_after_s


async def test_calls_are_bound_by_the_memory_of_the_language_model() -> None:
    door = admission(16)
    door.fit(KvCapacity(20_000, 32_768))
    await door.admit()
    await door.admit()
    await refused(door, "memory_full", "20000 tokens holds 2 calls of 8192")
    door.release()
    await door.admit()


@pytest.mark.parametrize(
    ("capacity", "kv_tokens", "places"),
    [
        (None, 0, 16),
        (None, 30_000, 3),
        (KvCapacity(40_000, 40_000), 0, 4),
        (KvCapacity(40_000, 40_000), 30_000, 3),
        (KvCapacity(40_000, 40_000), 100_000, 4),
        (KvCapacity(40_000, 4_000), 0, 10),
        (KvCapacity(1_000_000, 40_000), 0, 16),
    ],
)
async def test_the_smallest_limit_holds(capacity: KvCapacity | None, kv_tokens: int, places: int) -> None:
    door = admission(16, kv_tokens=kv_tokens, context=10_000)
    door.fit(capacity)
    for _ in range(places):
        await door.admit()
    await refused(door, "server_full" if places == 16 else "memory_full")


def test_a_memory_that_holds_no_call_is_a_mistake_of_the_operator() -> None:
    with pytest.raises(ConfigError, match="context_tokens_per_call"):
        admission().fit(KvCapacity(4096, 100_000))


async def test_a_language_model_that_starts_later_is_asked_again_with_each_call() -> None:
    told: list[KvCapacity | None] = [None, None, KvCapacity(16_384, 16_384)]
    asked = 0

    async def ask() -> KvCapacity | None:
        nonlocal asked
        asked += 1
        return told[asked - 1]

    door = admission(16)
    await door.learn(ask)
    await door.admit()
    await asyncio.sleep(0)
    await door.admit()
    await asyncio.sleep(0)
    await refused(door, "memory_full", "holds 2 calls")
    assert asked == 3


async def test_who_waits_is_not_let_in_where_the_memory_turned_out_smaller() -> None:
    door = admission(3, length=1)
    for _ in range(3):
        await door.admit()
    task = await waiting(door)
    door.fit(KvCapacity(20_000, 8192))
    door.release()
    await asyncio.sleep(0)
    assert not task.done(), "two calls fit, and two are still there"
    door.release()
    await task


async def test_who_waits_longest_is_let_in_first() -> None:
    door = admission(length=2)
    await door.admit()
    first, second = await waiting(door), await waiting(door)
    await refused(door, "server_full", "and 2 more wait")
    door.release()
    await first
    assert not second.done()
    door.release()
    await second


async def test_who_waits_in_vain_is_told_and_takes_no_place() -> None:
    door = admission(length=1, wait_s=0.01)
    await door.admit()
    await refused(door, "server_full", "nobody hung up within 0.01 s")
    door.release()
    await door.admit()
    await refused(door, "server_full", "nobody hung up")


async def test_who_has_gone_is_passed_over() -> None:
    door = admission(length=2)
    await door.admit()
    gone, stays = await waiting(door, is_there=False), await waiting(door)
    third = await waiting(door)  # the queue is full, but one of the two has gone
    door.release()
    await stays
    door.release()
    await third
    gone.cancel()


async def test_a_cancelled_wait_gives_its_place_on() -> None:
    door = admission(length=2)
    await door.admit()
    first, second = await waiting(door), await waiting(door)
    door.release()
    first.cancel()  # the place is its own already
    await asyncio.gather(first, return_exceptions=True)
    await second
    door.release()
    await door.admit()


async def test_a_server_that_stops_refuses_who_waits() -> None:
    door = admission(length=1)
    await door.admit()
    task = await waiting(door)
    await door.close()
    with pytest.raises(Problem, match="stopping"):
        await task
    await refused(door, "server_stopping")
