"""The files of a server's data folder. Only their owner may read them, whatever umask the server was started with. When the
server starts, it also closes files that came there open to others, such as a folder that was made for it or a backup. Several
servers may open an SQLite file at once."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
KEPT = ("keys*.json*", "calls.sqlite3*", "context", "context/*", "turns.sqlite3*", "calls", "calls/*")
"""Files that a server keeps in its data folder, or that an earlier version kept there."""

log = logging.getLogger(__name__)


def private_folder(folder: Path) -> None:
    """Make the folder if it is missing. An existing folder stays as it is. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def private_file(file: Path) -> None:
    """Make the file, empty, if it is missing. SQLite gives the files beside a database the database's own mode
    (https://sqlite.org/src, `findCreateFileMode`). A file that is there is not opened: to close it again would give up the locks
    of all this process's connections to it (https://sqlite.org/howtocorrupt.html, 2.2). Raises OSError."""
    private_folder(file.parent)
    with suppress(FileExistsError):
        os.close(os.open(file.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))


def keep_private(data_dir: Path) -> None:
    """Make the data folder, or remove the rights of group and others to it and to what a server keeps in it. A folder that all
    share, such as /tmp, is left alone, and only the files in it are closed. Raises nothing: files that cannot be changed are
    reported."""
    try:
        private_folder(data_dir)
        if data_dir.stat().st_mode & stat.S_ISVTX:
            log.warning("%s is a folder that others share; choose one of the server's own with $VOICEAGENT_DATA", data_dir)
        else:
            _tighten(data_dir)
        for path in _kept(data_dir):
            _tighten(path)
    except OSError as error:
        log.warning("%s: cannot be kept from others (%s); give it to the server's own user", error.filename, error.strerror)


def _kept(data_dir: Path) -> Iterator[Path]:
    for pattern in KEPT:
        yield from (path for path in data_dir.glob(pattern) if not path.is_symlink())


def _tighten(path: Path) -> None:
    mode = path.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        path.chmod(FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE)


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
