"""The server's readiness for calls. The port is bound first and the engines are loaded behind it, so `GET /readyz` is answered
from the start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from voiceagent.server.calls.calls import StartCall
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import TaskOwner

Load = Callable[[], AbstractAsyncContextManager[StartCall]]
"""Loads and warms the engines, and gives what starts calls. Leaving it frees the engines."""


class Readiness:
    """The engines' life: loading, ready, failed, closed. Make it inside the event loop."""

    def __init__(self, load: Load) -> None:
        self.reason = "The engines are being loaded."
        """The reason for which calls cannot be answered; empty when they can."""
        self._load = load
        self._start_call: StartCall | None = None
        self._stop = asyncio.Event()
        self._tasks = TaskOwner()
        self._loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def open(self) -> None:
        """Start loading."""
        self._tasks.start_alone(self._own(), "engines")

    async def wait(self) -> None:
        """Return once calls can be answered. Raises what loading raised."""
        await asyncio.shield(self._loaded)

    async def close(self) -> None:
        """Free the engines. Call it when no call is up."""
        self.reason = "The server is stopping."
        self._start_call = None
        self._stop.set()
        if not self._loaded.done():
            await self._tasks.close()
        await self._tasks.finished()

    def start_call(self) -> StartCall:
        """The object that starts calls. Raises Problem (503) while calls cannot be answered."""
        if self._start_call is None:
            raise Problem(503, "not_ready", self.reason, retry_after_s=2)
        return self._start_call

    async def _own(self) -> None:
        try:
            async with self._load() as start_call:
                self._start_call = start_call
                self.reason = ""
                self._loaded.set_result(None)
                await self._stop.wait()
        except Exception as error:
            self._start_call = None
            self.reason = "The engines could not be loaded; the server's log says why."
            if self._loaded.done():
                raise
            self._loaded.set_exception(error)
            self._loaded.exception()
