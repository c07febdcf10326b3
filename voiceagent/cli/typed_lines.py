"""Lines of standard input, from a terminal, a pipe or a file, as they come."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from voiceagent.errors import ConfigError

MAX_LINE_BYTES = 32_768
_PIECE_BYTES = 4096


async def typed_lines() -> AsyncIterator[str]:
    """Each line, without its end; ends with the input. Raises ConfigError for a line that is too long or no UTF-8."""
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    reader = _Reader(sys.stdin.fileno(), asyncio.get_running_loop(), lines)
    # Nobody waits for this thread at the end of the program.
    threading.Thread(target=reader.run, daemon=True, name="typed lines").start()
    number = 0
    while (line := await lines.get()) is not None:
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise ConfigError(f"standard input:{number}: the line is longer than {MAX_LINE_BYTES} bytes; write shorter ones")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"standard input:{number}: the line is no UTF-8; write text") from error
        reader.goes_on.release()


class _Reader:
    """Reads a descriptor in a thread, one line ahead."""

    def __init__(self, file: int, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes | None]) -> None:
        self._file, self._loop, self._lines = file, loop, lines
        self.goes_on = threading.Semaphore(1)
        """Released for each line that was taken."""

    def run(self) -> None:
        """Read to the end, or to a line that is too long."""
        rest = b""
        while len(rest) <= MAX_LINE_BYTES and (piece := _piece(self._file)):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                self._put(line.removesuffix(b"\r"))
        if rest:
            self._put(rest)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        self.goes_on.acquire()
        with suppress(RuntimeError):  # the event loop is closed: the call is over
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _piece(file: int) -> bytes:
    try:
        return os.read(file, _PIECE_BYTES)
    except OSError:  # the terminal was closed
        return b""
