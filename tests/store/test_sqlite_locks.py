"""Connections of one process to a SQLite store keep their locks when another of them is opened and closed. Else another process
would take itself for the last one, and delete the log of writes that they use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from voiceagent.store.database import SqliteDatabase

ANOTHER_WRITES = """
import sys
from pathlib import Path
from voiceagent.store.database import SqliteDatabase

other = SqliteDatabase(Path(sys.argv[1]), writes=True)
other.execute("INSERT INTO said VALUES ('by another')")
other.close()
"""


def test_a_process_that_ends_leaves_the_log_of_writes_to_those_who_go_on(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite3"
    ours = SqliteDatabase(file, writes=True)
    ours.execute("CREATE TABLE said (what TEXT)")
    SqliteDatabase(file, writes=True).close()
    subprocess.run([sys.executable, "-c", ANOTHER_WRITES, str(file)], check=True, timeout=60)
    assert file.with_name("calls.sqlite3-wal").exists()
    ours.execute("INSERT INTO said VALUES ('by us')")
    reader = SqliteDatabase(file, writes=False)
    assert reader.execute("SELECT what FROM said") == [("by another",), ("by us",)]
    reader.close()
    ours.close()


def test_a_link_to_a_file_that_is_to_be_made_leads_to_one_that_only_its_owner_reads(tmp_path: Path) -> None:
    file, link = tmp_path / "elsewhere.sqlite3", tmp_path / "calls.sqlite3"
    link.symlink_to(file)
    SqliteDatabase(link, writes=True).close()
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
