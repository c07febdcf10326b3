"""Finals overtake partials, old partials make room, and nobody waits for a job that nobody asks for any more."""

from __future__ import annotations

import asyncio
import threading

import pytest

from voiceagent.errors import EngineError
from voiceagent.stt.engine import DecodeDropped
from voiceagent.stt.queue import MAX_FINALS, MAX_PARTIALS, DecodeQueue


class Held:
    """A queue whose only worker is held by a first job until `release`."""

    def __init__(self) -> None:
        self.queue: DecodeQueue[str] = DecodeQueue()
        self.ran: list[str] = []
        self._go = threading.Event()
        self._taken = asyncio.Event()
        self._tasks: list[asyncio.Task[str]] = []

    async def hold(self) -> None:
        loop = asyncio.get_running_loop()

        def first() -> str:
            loop.call_soon_threadsafe(self._taken.set)
            self._go.wait()
            return "first"

        self._tasks.append(asyncio.create_task(self.queue.run(first, final=False)))
        await self._taken.wait()

    async def ask(self, name: str, *, final: bool = False) -> asyncio.Task[str]:
        def decode() -> str:
            self.ran.append(name)
            return name

        task = asyncio.create_task(self.queue.run(decode, final=final))
        self._tasks.append(task)
        await asyncio.sleep(0)
        return task

    async def release(self) -> list[str | BaseException]:
        self._go.set()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()
        return results


async def test_finals_go_before_partials() -> None:
    held = Held()
    await held.hold()
    await held.ask("partial")
    await held.ask("final", final=True)
    await held.release()
    assert held.ran == ["final", "partial"]


async def test_the_oldest_partial_makes_room() -> None:
    held = Held()
    await held.hold()
    tasks = [await held.ask(f"partial {i}") for i in range(MAX_PARTIALS + 2)]
    await held.release()
    for dropped in tasks[:2]:
        with pytest.raises(DecodeDropped):
            dropped.result()
    assert held.ran == [f"partial {i}" for i in range(2, MAX_PARTIALS + 2)]
    assert held.queue.dropped_partials == 2


async def test_a_job_whose_asker_has_gone_is_never_run() -> None:
    held = Held()
    await held.hold()
    gone = await held.ask("gone", final=True)
    gone.cancel()
    await held.ask("wanted")
    await held.release()
    assert held.ran == ["wanted"]


async def test_too_many_finals_are_refused() -> None:
    held = Held()
    await held.hold()
    for i in range(MAX_FINALS):
        await held.ask(f"final {i}", final=True)
    refused = await held.ask("one too many", final=True)
    with pytest.raises(EngineError, match="overloaded"):
        await refused
    assert held.queue.waiting == MAX_FINALS
    await held.release()


async def test_a_failing_decode_tells_its_asker_and_the_worker_goes_on() -> None:
    queue: DecodeQueue[int] = DecodeQueue()

    def fail() -> int:
        raise EngineError("broken")

    with pytest.raises(EngineError, match="broken"):
        await queue.run(fail, final=True)
    assert await queue.run(lambda: 7, final=True) == 7
    await queue.close()


async def test_a_closed_queue_takes_and_keeps_nothing() -> None:
    held = Held()
    await held.hold()
    waiting = await held.ask("waiting")
    closing = asyncio.create_task(held.queue.close())
    with pytest.raises(DecodeDropped):
        await waiting
    await held.release()
    await closing
    with pytest.raises(EngineError, match="closed"):
        await held.queue.run(lambda: "late", final=True)
