"""The limit on lines of the log."""

from __future__ import annotations

import logging

from voiceagent.server.log_limit import EVERY_S, LINES, MAX_KINDS, LogLimit


class Written(logging.Handler):
    """What came through."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Log:
    """A logger with a limit, and a clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.left_out = 0
        self.written = Written()
        self.written.addFilter(LogLimit(self._count, lambda: self.now_s))
        self.logger = logging.Logger("test")
        self.logger.addHandler(self.written)

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
        "number 50 is wrong: 100% (7 more like this were left out)",
        "number 51 is wrong: 100%",
    ]


def test_kinds_are_bounded() -> None:
    limit = LogLimit()
    for number in range(3 * MAX_KINDS):
        limit.filter(logging.LogRecord("x", logging.ERROR, "file.py", number, "text", None, None))
    assert len(limit._kinds) <= MAX_KINDS
