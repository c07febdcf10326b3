"""Waits for what the server logs: how a test knows that something happened behind the scenes."""

from __future__ import annotations

import asyncio
import logging


class LogWatch(logging.Handler):
    """Attach it to a logger, within an event loop."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.put_nowait(record.getMessage())

    async def said(self, part: str, timeout_s: float = 30.0) -> str:
        """The next line that holds `part`; lines before it are forgotten."""
        async with asyncio.timeout(timeout_s):
            while True:
                line = await self._lines.get()
                if part in line:
                    return line
