"""Finals overtake partials, windows that fit share a run, old partials make room, and nobody waits for work that nobody asks for
any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from voiceagent.errors import EngineError
from voiceagent.stt.engine import DecodeDropped
from voiceagent.stt.queue import MAX_FINALS, MAX_PARTIALS, DecodeQueue


class Held:
    """A queue whose workers are held by a first run each until `release`. Windows are words; those of one length fit."""

    def __init__(self, max_batch: int = 1, *, hold_finals: bool = True) -> None:
        self.runs: list[list[str]] = []
        self._hold_finals = hold_finals
        self._loop = asyncio.get_running_loop()
        self._go = threading.Event()
        self._taken = asyncio.Semaphore(0)
        self._tasks: list[asyncio.Task[str]] = []
        self.queue: DecodeQueue[str, str] = DecodeQueue(self._decode, group=len, max_batch=max_batch)

    def _decode(self, windows: Sequence[str]) -> list[str]:
        if windows[0] == "hold":
            self._loop.call_soon_threadsafe(self._taken.release)
            self._go.wait()
        else:
            self.runs.append(list(windows))
        return [window.upper() for window in windows]

    async def hold(self) -> None:
        for final in (False, True) if self._hold_finals else (False,):
            self._tasks.append(asyncio.create_task(self.queue.run("hold", final=final)))
            await self._taken.acquire()

    async def ask(self, window: str, *, final: bool = False) -> asyncio.Task[str]:
        task = asyncio.create_task(self.queue.run(window, final=final))
        self._tasks.append(task)
        await asyncio.sleep(0)
        return task

    async def release(self) -> list[str | BaseException]:
        self._go.set()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()
        return results


async def test_a_final_does_not_wait_for_a_partial() -> None:
    held = Held(hold_finals=False)
    await held.hold()
    waiting = await held.ask("partial")
    assert await (await held.ask("final", final=True)) == "FINAL"
    assert not waiting.done()
    await held.release()
    assert held.runs == [["final"], ["partial"]]


async def test_windows_that_fit_share_a_run_and_the_others_keep_their_order() -> None:
    held = Held(max_batch=3)
    await held.hold()
    tasks = [await held.ask(window) for window in ("aa", "b", "cc", "dd", "ee", "f")]
    await held.release()
    assert sorted(held.runs) == [["aa", "cc", "dd"], ["b", "f"], ["ee"]]
    assert [task.result() for task in tasks] == ["AA", "B", "CC", "DD", "EE", "F"]


async def test_finals_and_partials_share_no_run() -> None:
    held = Held(max_batch=3)
    await held.hold()
    await held.ask("aa")
    await held.ask("bb", final=True)
    await held.release()
    assert sorted(held.runs) == [["aa"], ["bb"]]


async def test_the_oldest_partial_makes_room() -> None:
    held = Held()
    await held.hold()
    tasks = [await held.ask(f"partial {i}") for i in range(MAX_PARTIALS + 2)]
    await held.release()
    for dropped in tasks[:2]:
        with pytest.raises(DecodeDropped):
            dropped.result()
    assert held.runs == [[f"partial {i}"] for i in range(2, MAX_PARTIALS + 2)]
    assert held.queue.dropped_partials == 2


async def test_work_whose_asker_has_gone_is_never_done() -> None:
    held = Held(max_batch=3)
    await held.hold()
    gone = await held.ask("gone", final=True)
    gone.cancel()
    await held.ask("kept", final=True)
    await held.release()
    assert held.runs == [["kept"]]


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


async def test_one_bad_window_spoils_no_others_and_the_worker_goes_on() -> None:
    class Broken(Held):
        def _decode(self, windows: Sequence[str]) -> list[str]:
            if "bad" in windows:
                raise EngineError("broken")
            return super()._decode(windows)

    held = Broken(max_batch=3)
    await held.hold()
    tasks = [await held.ask(window) for window in ("one", "bad", "two")]
    await held.release()
    assert [tasks[0].result(), tasks[2].result()] == ["ONE", "TWO"]
    with pytest.raises(EngineError, match="broken"):
        tasks[1].result()


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
        await held.queue.run("late", final=True)
