"""Turn measurements, on both engines."""

from dataclasses import replace
from pathlib import Path

import pytest

from voiceagent.latency.spans import Contribution, LegKind, Span, Stage, TurnFacts, TurnReport, Wait, WaitCause
from voiceagent.store.database import StoreAddress, StoreError, local_store
from voiceagent.store.schema import connect, reading
from voiceagent.store.turns import MAX_TURNS, TurnStore, read_turns
from voiceagent.store.writer import StoreWriter


def turn(number: int, call_id: str = "c1", profile: str = "embedded", stop_ms: float | None = None) -> TurnReport:
    return TurnReport(call_id, number, 1.5, profile, (Span(Stage.VAD, 10.25, 3.5), Span(Stage.TOOL, 20, 9)), 700.5, stop_ms)


def stored(address: StoreAddress, *reports: TurnReport, most_turns: int = MAX_TURNS) -> StoreWriter:
    writer = StoreWriter(address)
    store = TurnStore(writer, most_turns=most_turns)
    for report in reports:
        store.put(report)
    writer.close()
    return writer


def test_what_is_put_is_read_back_oldest_first(address: StoreAddress) -> None:
    writer = stored(address, turn(1), turn(2, stop_ms=180.0))
    assert writer.written == {"measured turns": 2}
    assert read_turns(address) == (turn(1), turn(2, stop_ms=180.0))


def test_the_newest_turns_of_a_call_or_profile_are_chosen(address: StoreAddress) -> None:
    stored(address, turn(1), turn(2), turn(3, "c2"), turn(4, "c2", "gpu"))
    assert [t.turn for t in read_turns(address, last=2)] == [3, 4]
    assert [t.turn for t in read_turns(address, call_id="c1")] == [1, 2]
    assert [t.turn for t in read_turns(address, call_id="c2", profile="embedded")] == [3]
    assert read_turns(address, call_id="' OR 1=1 --") == ()
    with pytest.raises(StoreError, match="2 calls begin with 'c'"):
        read_turns(address, call_id="c")


def test_the_turns_of_a_leg_are_chosen(address: StoreAddress) -> None:
    stored(address, turn(1), replace(turn(2), leg=LegKind.TELEPHONE), turn(3))
    assert [(t.turn, t.leg) for t in read_turns(address)] == [(1, "webrtc"), (2, "telephone"), (3, "webrtc")]
    assert [t.turn for t in read_turns(address, leg="telephone")] == [2]
    assert [t.turn for t in read_turns(address, leg="webrtc", call_id="c1")] == [1, 3]
    assert read_turns(address, leg="pigeon") == ()


def test_only_the_last_turns_are_kept(address: StoreAddress) -> None:
    for start in (0, 60):
        stored(address, *(turn(start + i) for i in range(60)), most_turns=50)
    assert [t.turn for t in read_turns(address)] == list(range(70, 120))


def test_a_store_that_was_never_written_says_how_to_get_one(address: StoreAddress) -> None:
    with pytest.raises(StoreError, match="nothing is kept there yet; run `voiceagent serve`"):
        read_turns(address)


def test_the_store_holds_times_of_turns_and_no_words(tmp_path: Path) -> None:
    stored(local_store(tmp_path), turn(1))
    with reading(local_store(tmp_path)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(voiceagent_turns)")]
        ((spans,),) = database.execute("SELECT spans FROM voiceagent_turns")
    assert columns == [
        "id",
        "call_id",
        "turn",
        "at",
        "profile",
        "voice_to_voice_ms",
        "barge_in_stop_ms",
        "spans",
        "leg",
        "wait",
        "facts",
    ]
    assert spans == '[["vad", 10.25, 3.5], ["tool", 20, 9]]'


def test_what_a_caller_waited_for_is_read_back(address: StoreAddress) -> None:
    wait = Wait(1000.5, (Contribution(WaitCause.ENDPOINT, 0.0, 200.25), Contribution(WaitCause.TOOL, 200.25, 500.25)), typed=True)
    stored(address, replace(turn(1), wait=wait))
    assert read_turns(address) == (replace(turn(1), wait=wait),)


def test_the_counts_of_a_turn_are_read_back(address: StoreAddress) -> None:
    counted = replace(turn(1), facts=TurnFacts("interrupted", True, 900, 20, tools=2, tools_failed=1, discarded=3, version="1.2"))
    stored(address, counted)
    assert read_turns(address) == (counted,)


def test_turns_of_a_time_are_chosen(address: StoreAddress) -> None:
    stored(address, *(replace(turn(number), at=number * 10.0) for number in range(1, 6)))
    assert [t.turn for t in read_turns(address, since=20.0, until=40.0)] == [2, 3]


def test_a_store_without_counts_is_read_and_then_has_them(address: StoreAddress) -> None:
    stored(address, turn(1))
    database = connect(address, writes=True)
    database.execute("ALTER TABLE voiceagent_turns DROP COLUMN facts")
    database.close()
    assert read_turns(address) == (turn(1),)
    counted = replace(turn(2), facts=TurnFacts("completed"))
    stored(address, counted)
    assert read_turns(address) == (turn(1), counted)
