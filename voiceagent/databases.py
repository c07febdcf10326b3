"""SQLite files that several servers may open at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

STEP_S = 0.01


def open_patiently(opened: Callable[[], sqlite3.Connection], within_s: float) -> sqlite3.Connection:
    """Open a database, and again while another has it locked. SQLite's own time-out is not enough: of two that make a file at
    once, it tells one at once that the file is locked, because that one already reads it (its manual,
    `sqlite3_busy_handler`). Raises what `opened` raises."""
    until_s = time.monotonic() + within_s
    while True:
        try:
            return opened()
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > until_s:
                raise
        time.sleep(STEP_S)


def is_locked(error: sqlite3.Error) -> bool:
    """True if SQLite reports that another holds the file, so that it may be free later. An error that we raise has no code."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
