"""The limit on lines of the log."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager

from voiceagent.logs import TURNS
from voiceagent.server.monitoring.log_limit import EVERY_S, LINES, MAX_KINDS, LimitedHandler


class Written(logging.Handler):
    """What came through."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self.records]

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class Log:
    """A logger with a limit, and a clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.left_out = 0
        self.written = Written()
        self.limited = LimitedHandler(self.written, self._count, lambda: self.now_s)
        self.logger = logging.Logger("test")
        self.logger.addHandler(self.limited)

    def _count(self, lines: int) -> None:
        self.left_out += lines

    def complain(self, number: int) -> None:
        self.logger.error("number %d is wrong: 100%%", number)


def test_lines_of_one_kind_are_limited_and_the_rest_is_counted() -> None:
    log = Log()
    for number in range(1000):
        log.complain(number)
    assert log.written.lines == [f"number {number} is wrong: 100%" for number in range(LINES)]
    assert log.left_out == 1000 - LINES


def test_lines_of_other_kinds_are_written() -> None:
    log = Log()
    for number in range(100):
        log.complain(number)
    log.logger.error("something else")
    assert log.written.lines[-1] == "something else"


def test_after_a_while_a_line_says_how_many_were_left_out() -> None:
    log = Log()
    for number in range(LINES + 7):
        log.complain(number)
    log.now_s = EVERY_S
    log.complain(50)
    log.complain(51)
    assert log.written.lines[LINES:] == [
        "7 similar lines were left out, the last one: number 11 is wrong: 100%",
        "number 50 is wrong: 100%",
        "number 51 is wrong: 100%",
    ]


def test_the_total_comes_also_if_no_further_line_does() -> None:
    log = Log()
    for number in range(LINES + 1):
        log.complain(number)
    log.limited.tell_totals(older_than_s=EVERY_S)
    assert len(log.written.lines) == LINES
    log.now_s = EVERY_S
    log.limited.tell_totals(older_than_s=EVERY_S)
    log.limited.tell_totals()
    assert log.written.lines[LINES:] == ["1 similar line was left out: number 5 is wrong: 100%"]


def test_the_total_comes_at_the_end_of_the_process() -> None:
    log = Log()
    for number in range(LINES + 3):
        log.complain(number)
    log.limited.close()
    assert log.written.lines[LINES:] == ["3 similar lines were left out, the last one: number 7 is wrong: 100%"]


async def test_the_total_comes_when_the_server_stops() -> None:
    log = Log()
    async with asynccontextmanager(log.limited.tell_from_time_to_time)():
        for number in range(LINES + 3):
            log.complain(number)
    assert len(log.written.lines) == LINES + 1


def test_kinds_are_bounded_and_their_totals_are_told() -> None:
    log = Log()
    for line in range(3 * MAX_KINDS):
        for _ in range(LINES + 2):
            log.limited.handle(logging.LogRecord("x", logging.ERROR, "file.py", line, "text", None, None))
    log.limited.close()
    assert len(log.limited._kinds) <= MAX_KINDS
    assert log.written.lines.count("2 similar lines were left out, the last one: text") == 3 * MAX_KINDS


def test_a_total_has_no_traceback() -> None:
    log = Log()
    for _ in range(LINES + 1):
        try:
            raise ValueError("wrong")
        except ValueError:
            log.logger.exception("it broke")
    log.limited.close()
    assert log.written.records[-1].exc_info is None


def test_the_lines_of_turns_have_more_room() -> None:
    log = Log()
    log.logger.name = TURNS
    for number in range(3 * LINES):
        log.complain(number)
    assert len(log.written.lines) == 3 * LINES
