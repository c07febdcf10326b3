import logging
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from voiceagent.latency.spans import LegKind, Span, Stage, TurnReport
from voiceagent.latency.wait import Contribution, Wait, WaitCause
from voiceagent.store import losses, turns
from voiceagent.store.turns import StoreError, TurnStore, read_turns


def turn(number: int, call_id: str = "c1", profile: str = "embedded", stop_ms: float | None = None) -> TurnReport:
    return TurnReport(call_id, number, 1.5, profile, (Span(Stage.VAD, 10.25, 3.5), Span(Stage.TOOL, 20, 9)), 700.5, stop_ms)


def stored(file: Path, *reports: TurnReport, most_turns: int = turns.MAX_TURNS) -> TurnStore:
    store = TurnStore(file, most_turns=most_turns)
    for report in reports:
        store.put(report)
    store.close()
    return store


def test_what_is_put_is_read_back_oldest_first(tmp_path: Path) -> None:
    file = tmp_path / "new" / "turns.sqlite3"
    store = stored(file, turn(1), turn(2, stop_ms=180.0))
    assert (store.written, store.dropped) == (2, 0)
    assert read_turns(file) == (turn(1), turn(2, stop_ms=180.0))


def test_the_newest_turns_of_a_call_or_profile_are_chosen(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite3"
    stored(file, turn(1), turn(2), turn(3, "c2"), turn(4, "c2", "gpu"))
    assert [t.turn for t in read_turns(file, last=2)] == [3, 4]
    assert [t.turn for t in read_turns(file, call_id="c1")] == [1, 2]
    assert [t.turn for t in read_turns(file, call_id="c2", profile="embedded")] == [3]
    assert read_turns(file, call_id="' OR 1=1 --") == ()


def test_the_turns_of_a_leg_are_chosen(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite3"
    stored(file, turn(1), replace(turn(2), leg=LegKind.TELEPHONE), turn(3))
    assert [(t.turn, t.leg) for t in read_turns(file)] == [(1, "webrtc"), (2, "telephone"), (3, "webrtc")]
    assert [t.turn for t in read_turns(file, leg="telephone")] == [2]
    assert [t.turn for t in read_turns(file, leg="webrtc", call_id="c1")] == [1, 3]
    assert read_turns(file, leg="pigeon") == ()


def test_only_the_last_turns_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite3"
    for start in (0, 60):
        stored(file, *(turn(start + i) for i in range(60)), most_turns=50)
    assert [t.turn for t in read_turns(file)] == list(range(70, 120))


@pytest.mark.parametrize("again", range(20))
def test_two_servers_may_share_a_file(tmp_path: Path, again: int) -> None:
    """Also one that they make at once: each of twenty times, because one or two in twenty went wrong."""
    file = tmp_path / f"{again}.sqlite3"
    stores = [TurnStore(file), TurnStore(file)]
    for number in range(100):
        stores[number % 2].put(turn(number))
    for store in stores:
        store.close()
    assert sorted(t.turn for t in read_turns(file)) == list(range(100))


def test_a_full_queue_drops_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()
    really_open = turns._open_for_writing

    def slow_open(file: Path, busy_timeout_s: float) -> sqlite3.Connection:
        entered.set()
        assert leave.wait(10)
        return really_open(file, busy_timeout_s)

    monkeypatch.setattr(turns, "_open_for_writing", slow_open)
    store = TurnStore(tmp_path / "t.sqlite3")
    store.put(turn(0))
    assert entered.wait(10)
    accepted = [store.put(turn(i)) for i in range(turns.MAX_QUEUED + 7)]
    leave.set()
    store.close()
    assert accepted.count(False) == store.dropped == 7
    assert store.written == turns.MAX_QUEUED + 1
    assert not store.put(turn(1))


@pytest.mark.parametrize("content", [b"this is no database, only long" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_file_costs_measurements_and_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    file = tmp_path / "t.sqlite3"
    file.write_bytes(content)
    store = TurnStore(file)
    with caplog.at_level(logging.WARNING):
        store.put(turn(1))
        store.close()
    assert (store.written, store.dropped) == (0, 1)
    (record,) = caplog.records
    assert "turn measurements are not kept" in record.message
    assert "move the file away" in record.message
    assert "\n" not in record.message
    with pytest.raises(StoreError, match=r"t\.sqlite3: cannot be read .*; move the file away"):
        read_turns(file)


def test_a_locked_file_costs_measurements_and_heals(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "t.sqlite3"
    stored(file, turn(1))
    told = threading.Event()

    class Tell(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    handler = Tell()
    losses.log.addHandler(handler)
    store = TurnStore(file, busy_timeout_s=0.01)
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            store.put(turn(2))
            assert told.wait(10)
        store.put(turn(3))
        store.close()
    finally:
        losses.log.removeHandler(handler)
    assert "end that program" in caplog.text
    assert (store.written, store.dropped) == (1, 1)
    assert [t.turn for t in read_turns(file)] == [1, 3]


def test_a_folder_that_cannot_be_made_costs_measurements(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    store = stored(tmp_path / "file" / "t.sqlite3", turn(1))
    assert store.dropped == 1
    assert "choose another with $VOICEAGENT_DATA" in caplog.text


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "t.sqlite3"
    stored(file, turn(1))
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 99")
    assert stored(file, turn(2)).dropped == 1
    assert "a newer voiceagent wrote it, as version 99" in caplog.text
    with pytest.raises(StoreError, match="newer voiceagent"):
        read_turns(file)


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no turn was measured yet; run `voiceagent serve`"):
        read_turns(tmp_path / "none.sqlite3")


def test_the_file_holds_times_and_no_words(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite3"
    stored(file, turn(1))
    with closing(sqlite3.connect(file)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(turns)")]
        (spans,) = database.execute("SELECT spans FROM turns").fetchone()
    assert columns == ["id", "call_id", "turn", "at", "profile", "voice_to_voice_ms", "barge_in_stop_ms", "spans", "leg", "wait"]
    assert spans == '[["vad", 10.25, 3.5], ["tool", 20, 9]]'


def test_what_a_caller_waited_for_is_read_back(tmp_path: Path) -> None:
    wait = Wait(1000.5, (Contribution(WaitCause.ENDPOINT, 0.0, 200.25), Contribution(WaitCause.TOOL, 200.25, 500.25)), typed=True)
    stored(tmp_path / "t.sqlite3", replace(turn(1), wait=wait))
    assert read_turns(tmp_path / "t.sqlite3") == (replace(turn(1), wait=wait),)
