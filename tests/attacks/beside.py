"""A server process that is started and ended in a thread, so that what it speaks with can run on this loop meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager

from tests.server_process import ServerProcess


@asynccontextmanager
async def beside(running: AbstractContextManager[ServerProcess]) -> AsyncIterator[ServerProcess]:
    """Enter and leave `running_server(...)` off the loop."""
    server = await asyncio.to_thread(running.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)
