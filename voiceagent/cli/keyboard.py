"""Single keys of a terminal, without the return key, while a call goes on. The terminal is as before afterwards, however the
command ends."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from types import TracebackType

MAX_WAITING = 16
"""Keys that may wait; further ones are dropped."""


class Keyboard:
    """`with Keyboard() as keyboard:` on the event loop, while standard input is a terminal."""

    def __init__(self) -> None:
        self._file = sys.stdin.fileno()
        self._before: list[object] = []
        self._keys: asyncio.Queue[str] = asyncio.Queue(MAX_WAITING)

    def __enter__(self) -> Keyboard:
        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        asyncio.get_running_loop().add_reader(self._file, self._read)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        asyncio.get_running_loop().remove_reader(self._file)
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    async def key(self) -> str:
        """The next key; empty once the terminal is gone."""
        return await self._keys.get()

    def _read(self) -> None:
        try:
            data = os.read(self._file, 64)
        except OSError:  # the terminal was closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._file)
        is_sequence = data.startswith(b"\x1b")  # an arrow or a function key
        for key in [""] if not data else [] if is_sequence else data.decode(errors="ignore"):
            if not self._keys.full():
                self._keys.put_nowait(key)
