"""A limit on the log: a number of lines of one kind in a period, then one line with the number of further ones. Clients that
make a server complain cannot fill its disk. This one line always comes: when the period is over, or at the end of the
process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from voiceagent import logs
from voiceagent.task_owner import running

LINES = 5
TURN_LINES = 100
"""The limit of the lines about turns: each turn has one, also on a server that carries many calls."""
EVERY_S = 10.0
MAX_KINDS = 256


@dataclass(slots=True)
class _Kind:
    """Lines that one place in the code writes."""

    began_s: float
    lines: int = 0
    left_out: int = 0
    last: logging.LogRecord | None = None
    """The last line that was left out."""


class LimitedHandler(logging.Handler):
    """Hands lines on to another handler, in whose place it stands inside `with`. The kind of a line is the place that writes it:
    logger, level, file and line of code."""

    def __init__(
        self,
        target: logging.Handler,
        on_left_out: Callable[[int], None] = lambda count: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._target = target
        self._kinds: dict[tuple[str, int, str, int], _Kind] = {}
        self._on_left_out = on_left_out
        self._clock = clock

    def __enter__(self) -> LimitedHandler:
        logs.replace(self._target, self)
        return self

    def __exit__(self, *exception: object) -> None:
        logs.replace(self, self._target)
        self.close()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it. The count of a period that is over is logged first."""
        now_s = self._clock()
        key = (record.name, record.levelno, record.pathname, record.lineno)
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= MAX_KINDS:
                self.tell_totals()
                self._kinds.clear()
            kind = self._kinds[key] = _Kind(now_s)
        if now_s - kind.began_s >= EVERY_S:
            self._tell(kind)
            kind.began_s, kind.lines = now_s, 0
        kind.lines += 1
        if kind.lines <= (TURN_LINES if record.name == logs.TURNS else LINES):
            self._target.handle(record)
            return
        kind.left_out += 1
        kind.last = record
        self._on_left_out(1)

    def tell_totals(self, *, older_than_s: float = 0.0) -> None:
        """Write how many lines of each kind were left out in periods that are at least so old."""
        self.acquire()
        try:
            for kind in self._kinds.values():
                if self._clock() - kind.began_s >= older_than_s:
                    self._tell(kind)
        finally:
            self.release()

    def close(self) -> None:
        """No more lines come."""
        self.tell_totals()
        super().close()

    async def tell_from_time_to_time(self) -> AsyncIterator[None]:
        """Logs totals while this is open, when their periods are over, also if no further line of their kind comes."""

        async def tell() -> None:
            while True:
                await asyncio.sleep(EVERY_S)
                self.tell_totals(older_than_s=EVERY_S)

        async with running(tell(), "totals of the log"):
            yield
        self.tell_totals()

    def _tell(self, kind: _Kind) -> None:
        record, count = kind.last, kind.left_out
        kind.last, kind.left_out = None, 0
        if record is None:
            return
        more = "1 similar line was left out" if count == 1 else f"{count} similar lines were left out, the last one"
        total = logging.makeLogRecord({**record.__dict__, "msg": f"{more}: {record.getMessage()}", "args": None})
        total.exc_info = total.exc_text = total.stack_info = None
        self._target.handle(total)
