"""Writes to the store: what is lost is counted, and nothing else is lost with it."""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.postgresql import PASSWORD, PostgreSql
from tests.store.test_turns import stored, turn
from voiceagent.errors import ConfigError
from voiceagent.store import writer
from voiceagent.store.database import Database, StoreAddress, StoreError, chosen_store, local_store
from voiceagent.store.schema import connect
from voiceagent.store.turns import TurnStore, read_turns
from voiceagent.store.writer import MAX_QUEUED, MAX_QUEUED_BYTES, Losses, Statement, StoreWriter

EVENT = "INSERT INTO voiceagent_call_events (call_id, number, line) VALUES (?, ?, ?)"
TURNS = "measured turns"


@pytest.mark.parametrize("again", range(20))
def test_two_servers_may_share_a_store(address: StoreAddress, again: int) -> None:
    """Also one that they make at once: each of twenty times, because one or two in twenty went wrong."""
    writers = [StoreWriter(address), StoreWriter(address)]
    for number in range(100):
        TurnStore(writers[number % 2]).put(turn(number))
    for each in writers:
        each.close()
    assert sorted(t.turn for t in read_turns(address)) == list(range(100))


class Held:
    """A store that does not answer until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()

        def slow(address: StoreAddress, *, writes: bool, busy_timeout_s: float) -> Database:
            self.entered.set()
            assert self.leave.wait(10)
            return connect(address, writes=writes, busy_timeout_s=busy_timeout_s)

        monkeypatch.setattr(writer, "connect", slow)


def test_a_full_queue_drops_and_counts(address: StoreAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    held, lost = Held(monkeypatch), Losses()
    store = StoreWriter(address, lost)
    store.put("first", Statement(EVENT, ("c", 0, "{}")))
    assert held.entered.wait(10)
    accepted = [store.put("events", Statement(EVENT, ("c", 1 + number, "{}"))) for number in range(MAX_QUEUED + 7)]
    held.leave.set()
    store.close()
    assert accepted.count(False) == lost.counts["events"] == 7
    assert store.written == {"first": 1, "events": MAX_QUEUED}
    assert not store.put("events", Statement(EVENT, ("c", 1, "{}"))), "it is closed"


def test_a_queue_is_full_by_its_bytes_too(address: StoreAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    held, lost = Held(monkeypatch), Losses()
    store = StoreWriter(address, lost)
    store.put("first", Statement(EVENT, ("c", 0, "{}")))
    assert held.entered.wait(10)
    piece = "x" * (MAX_QUEUED_BYTES // 4)
    accepted = [store.put("steps", Statement(EVENT, ("c", 1 + number, piece)), items=5) for number in range(5)]
    assert accepted.count(False) == 2
    assert store.put("events", Statement(EVENT, ("c", 9, "{}"))), "there is room for what is small"
    held.leave.set()
    store.close()
    assert lost.counts == {"steps": 10}


def test_a_write_that_is_refused_takes_no_other_with_it(address: StoreAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    held, lost = Held(monkeypatch), Losses()
    store = StoreWriter(address, lost)
    store.put("first", Statement(EVENT, ("c", 0, "{}")))
    assert held.entered.wait(10)
    for number in (1, 2, 2, 3):
        store.put("events", Statement(EVENT, ("c", number, "{}")))
    held.leave.set()
    store.close()
    assert lost.counts == {"events": 1}
    assert store.written == {"first": 1, "events": 3}


def test_a_text_that_is_no_unicode_is_refused_and_the_thread_goes_on(address: StoreAddress) -> None:
    lost = Losses()
    store = StoreWriter(address, lost)
    store.put("events", Statement(EVENT, ("c", 1, "\ud800")))
    store.put("events", Statement(EVENT, ("c", 2, "{}")))
    store.close()
    assert (store.written, lost.counts) == ({"events": 1}, {"events": 1})


def test_a_write_is_done_whole_or_not_at_all(address: StoreAddress) -> None:
    store = StoreWriter(address, Losses())
    store.put("pairs", Statement(EVENT, ("c", 1, "{}")), Statement(EVENT, ("c", 1, "{}")))
    store.put("single", Statement(EVENT, ("c", 1, "{}")))
    store.close()
    assert store.written == {"single": 1}


@pytest.mark.parametrize("content", [b"this is no database, only long" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_file_costs_measurements_and_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    address = local_store(tmp_path)
    address.file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert stored(address, turn(1)).written == {}
    (record,) = caplog.records
    assert "measured turns are not kept" in record.message
    assert "move the file away" in record.message
    assert "\n" not in record.message
    with pytest.raises(StoreError, match=r"calls\.sqlite3: .*; move the file away"):
        read_turns(address)


class Told(logging.Handler):
    """Waits for the first loss that is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.told.set()

    def __enter__(self) -> threading.Event:
        writer.log.addHandler(self)
        return self.told

    def __exit__(self, *_: object) -> None:
        writer.log.removeHandler(self)


def test_a_locked_file_costs_measurements_and_heals(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    address = local_store(tmp_path)
    stored(address, turn(1))
    lost = Losses()
    store = StoreWriter(address, lost, busy_timeout_s=0.01)
    with Told() as told, closing(sqlite3.connect(address.file, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        TurnStore(store).put(turn(2))
        assert told.wait(10)
    TurnStore(store).put(turn(3))
    store.close()
    assert "end that program" in caplog.text
    assert (store.written, lost.counts) == ({TURNS: 1}, {TURNS: 1})
    assert [t.turn for t in read_turns(address)] == [1, 3]


def test_a_folder_that_cannot_be_made_costs_measurements(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    assert stored(local_store(tmp_path / "file"), turn(1)).written == {}
    assert "choose another with $VOICEAGENT_DATA" in caplog.text


def test_a_store_of_a_newer_version_is_left_alone(address: StoreAddress, caplog: pytest.LogCaptureFixture) -> None:
    stored(address, turn(1))
    database = connect(address, writes=True)
    database.execute("UPDATE voiceagent_store SET version = ?", (99,))
    database.close()
    assert stored(address, turn(2)).written == {}
    assert "a newer voiceagent wrote it, as version 99" in caplog.text
    with pytest.raises(StoreError, match="newer voiceagent"):
        read_turns(address)


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    stored(local_store(tmp_path / "data"), turn(1))
    assert [path.name for path in (tmp_path / "data").iterdir() if path.stat().st_mode & 0o077] == []
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_a_database_that_goes_down_loses_nothing_if_it_comes_back(server: PostgreSql, tmp_path: Path) -> None:
    address = server.new_store(tmp_path)
    lost = Losses()
    store = StoreWriter(address, lost)
    turns = TurnStore(store)
    turns.put(turn(1))
    turns.put(turn(2))
    while store.written != {TURNS: 2}:
        threading.Event().wait(0.01)
    server.stop()
    for number in range(3, 50):
        turns.put(turn(number))
    server.start()
    while store.written != {TURNS: 49}:
        threading.Event().wait(0.01)
    store.close()
    assert lost.counts == {}
    assert [t.turn for t in read_turns(address)] == list(range(1, 50))


def test_a_database_that_stays_away_costs_measurements_and_tells_no_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = StoreAddress(tmp_path / "none", f"postgresql://voice:{PASSWORD}@127.0.0.1:9/calls")
    lost = Losses()
    store = StoreWriter(address, lost, retry_for_s=0.0)
    TurnStore(store).put(turn(1))
    store.close()
    assert lost.counts == {TURNS: 1}
    assert "is the database up" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_wrong_password_is_one_line_without_it(server: PostgreSql, tmp_path: Path) -> None:
    address = StoreAddress(tmp_path / "none", server.url("postgres").replace(PASSWORD, "wrong-store-password"))
    with pytest.raises(StoreError) as error:
        read_turns(address)
    assert "password authentication failed" in str(error.value)
    assert "wrong-store-password" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/db",
        "calls.sqlite3",
        "postgresql://h:0/x",
        "postgresql://h,i:0/x",
        "postgresql://h:1,i:x/x",
        "postgres//x",
        "x://user:secret-word@h/d",
    ],
)
def test_an_address_of_another_kind_is_one_line(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="expected postgresql://") as error:
        chosen_store(url, tmp_path)
    assert "secret-word" not in str(error.value)


def test_an_address_is_shown_without_its_password(tmp_path: Path) -> None:
    assert str(chosen_store("postgresql://voice:secret@db/calls?sslmode=require", tmp_path)) == "postgresql://db/calls"
    two = chosen_store("postgresql://voice:secret@one:5432,two:5433/calls", tmp_path)
    assert str(two) == "postgresql://one:5432,two:5433/calls"
    assert chosen_store("", tmp_path) == local_store(tmp_path)
