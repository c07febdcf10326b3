"""The threads of tools that are plain functions."""

from __future__ import annotations

import asyncio
import threading

import pytest

from voiceagent.tools.tool import MAX_WAITING, WORKERS, Threads, TooManyRunning


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("tool_")}


async def test_all_threads_start_with_the_first_function_and_none_later() -> None:
    before, pool, go_on = threads(), Threads(), threading.Event()
    try:
        assert threads() == before
        assert await pool.run(lambda: "done") == "done"
        started = threads() - before
        assert len(started) == WORKERS
        runs = [asyncio.ensure_future(pool.run(go_on.wait)) for _ in range(WORKERS + MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRunning):
            await pool.run(go_on.wait)
        go_on.set()
        assert all(await asyncio.gather(*runs))
        assert threads() - before == started
    finally:
        pool.close()
