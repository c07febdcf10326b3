"""Several benchmarks on one machine take turns: `VOICEAGENT_BENCH_LOCK` names a file that each locks during a round."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LOCK_VARIABLE = "VOICEAGENT_BENCH_LOCK"
LET_OTHERS_S = 1.0
"""Between two rounds, so that whoever waits for the lock gets it."""


@asynccontextmanager
async def quiet_machine() -> AsyncIterator[None]:
    """Hold the lock for a round; nothing where no file is named."""
    path = os.environ.get(LOCK_VARIABLE)
    if not path:
        yield
        return
    with open(path, "w", encoding="utf-8") as file:  # noqa: ASYNC230
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield
    await asyncio.sleep(LET_OTHERS_S)
