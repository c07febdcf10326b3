"""What the server logs, for tests that wait for a line."""

from __future__ import annotations

import asyncio
import logging


class Lines(logging.Handler):
    """What is logged from a level on; `wait` for a line of it."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self._changed.set()

    async def wait(self, text: str, timeout_s: float = 30.0) -> str:
        """The first line that holds `text`."""
        async with asyncio.timeout(timeout_s):
            while not (found := [line for line in self.lines if text in line]):
                self._changed.clear()
                await self._changed.wait()
            return found[0]
