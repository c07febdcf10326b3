"""A limit on the log: so many lines of one kind in a period, then one line that says how many more there were. So clients that
make a server complain cannot fill its disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

LINES = 5
EVERY_S = 10.0
MAX_KINDS = 256


@dataclass(slots=True)
class _Kind:
    """Lines that one place in the code writes."""

    began_s: float
    lines: int = 0
    left_out: int = 0


class LogLimit(logging.Filter):
    """Attach it to a handler. The kind of a line is the place that writes it: logger, level, file and line of code."""

    def __init__(
        self, on_left_out: Callable[[int], None] = lambda count: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, int, str, int], _Kind] = {}
        self._on_left_out = on_left_out
        self._clock = clock

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written. The first line after a period says how many were left out."""
        now_s = self._clock()
        key = (record.name, record.levelno, record.pathname, record.lineno)
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= MAX_KINDS:
                self._kinds.clear()
            kind = self._kinds[key] = _Kind(now_s)
        if now_s - kind.began_s >= EVERY_S:
            if kind.left_out:
                record.msg, record.args = f"{record.getMessage()} ({kind.left_out} more like this were left out)", None
            kind.began_s, kind.lines, kind.left_out = now_s, 0, 0
        kind.lines += 1
        if kind.lines <= LINES:
            return True
        kind.left_out += 1
        self._on_left_out(1)
        return False
