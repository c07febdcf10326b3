"""Event logs, on both engines."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.conversation.world import World
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action
from voiceagent.conversation.machine import replay
from voiceagent.conversation.rules import EndpointingRules, Phrases, Rules, SpeculationRules
from voiceagent.store.database import StoreAddress, local_store
from voiceagent.store.event_log import (
    FORMAT,
    MAX_LOG_BYTES,
    MOST_FRAMES,
    EventLog,
    EventLogError,
    LogFile,
    Recorded,
    StoredLog,
    log_bytes,
    logged_calls,
    read_log,
)
from voiceagent.store.schema import connect
from voiceagent.store.writer import Losses, StoreWriter
from voiceagent.turn_taking.endpointing import EndpointModel, Prosody

RULES = Rules(
    language="en", phrases=Phrases(greeting="Hello."), endpointing=EndpointingRules(model=EndpointModel(speculate_from=0.0))
)


def play_call(record: Callable[[ev.Event, tuple[Action, ...]], None]) -> None:
    """A greeting, a speculative reply that is kept, a tool, an interruption, a hang-up."""
    world = World(RULES, record)
    world.begin()
    world.play_all()
    world.speech()
    world.pause_with("What's the weather in Paris?")
    world.call_tool()
    world.endpoint()
    world.finish_tool()
    world.answer("It is sunny in Paris.")
    world.synthesise_all()
    world.frames(20)
    world.say("No, wait.")
    world.settle()
    world.feed(ev.HangUp(world.now_ms, "hangup"))


def a_log(address: StoreAddress, call_id: str = "rtc_1", most_bytes: int = MAX_LOG_BYTES) -> Losses:
    """The log of such a call; what was lost of it."""
    lost = Losses()
    writer = StoreWriter(address, lost)
    log = EventLog(StoredLog(writer, call_id), call_id, RULES, most_bytes=most_bytes)
    play_call(log.record)
    log.close()
    writer.close()
    return lost


def a_file(path: Path) -> Path:
    log = EventLog(LogFile(path), "rtc_1", RULES)
    play_call(log.record)
    log.close()
    return path


def test_a_recorded_call_is_decided_the_same_again(address: StoreAddress) -> None:
    a_log(address)
    head, steps = read_log(address, "rtc_1")
    recorded = list(steps)
    assert (head.call_id, head.rules) == ("rtc_1", RULES)
    assert recorded[0].event == ev.CallStarted(0.0)
    assert isinstance(recorded[-1].event, ev.HangUp)
    again = list(replay(head.rules, ((step.event, step.actions) for step in recorded)))
    assert len(again) == len(recorded)
    assert all(step.same for step in again)


def test_an_exported_log_is_the_same(address: StoreAddress, tmp_path: Path) -> None:
    a_log(address)
    file = tmp_path / "log.jsonl"
    file.write_bytes(log_bytes(address, "1"))
    assert list(read_log(address, str(file))[1]) == list(read_log(address, "rtc_1")[1])


def test_another_rule_is_another_decision(tmp_path: Path) -> None:
    head, steps = read_log(local_store(tmp_path), str(a_file(tmp_path / "log.jsonl")))
    again = replay(
        Rules(phrases=Phrases(greeting="Hello."), speculation=SpeculationRules(max_replies=0)),
        ((step.event, step.actions) for step in steps),
    )
    assert not all(step.same for step in again)
    assert head.rules.speculation.max_replies == 3


def test_numbers_of_numpy_are_numbers(address: StoreAddress) -> None:
    writer = StoreWriter(address)
    log = EventLog(StoredLog(writer, "rtc_1"), "rtc_1", RULES)
    log.record(ev.SpeechPaused(np.float64(3.5), 1, 1, 2.0, 600.0, Prosody(energy_fall_db=np.float64(0.25))), ())
    log.close()
    writer.close()
    (step,) = read_log(address, "rtc_1")[1]
    assert step.event == ev.SpeechPaused(3.5, 1, 1, 2.0, 600.0, Prosody(energy_fall_db=0.25))


def test_any_words_are_read_back(address: StoreAddress) -> None:
    writer = StoreWriter(address)
    log = EventLog(StoredLog(writer, "rtc_1"), "rtc_1", RULES)
    said = ev.TextReceived(1.0, "a\0b ? % %s \u2028 \U0001f600 '; DROP TABLE voiceagent_calls; --")
    log.record(said, ())
    log.close()
    writer.close()
    (step,) = read_log(address, "rtc_1")[1]
    assert step.event == said


def test_a_log_of_many_parts_is_whole(address: StoreAddress) -> None:
    writer = StoreWriter(address)
    log = EventLog(StoredLog(writer, "rtc_1"), "rtc_1", RULES)
    for number in range(2_000):
        log.record(ev.TextReceived(float(number), "words " * 20), ())
    log.close()
    writer.close()
    times = [step.event.at_ms for step in read_log(address, "rtc_1")[1]]
    assert all(after - before == 1.0 for before, after in pairwise(times))
    assert len(times) == 2_000


def test_a_log_with_a_lost_part_is_read_up_to_there(address: StoreAddress) -> None:
    a_log(address)
    database = connect(address, writes=True)
    ((parts,),) = database.execute("SELECT max(part) FROM voiceagent_event_logs")
    assert parts == 3
    database.execute("DELETE FROM voiceagent_event_logs WHERE part = ?", (2,))
    database.close()
    _, steps = read_log(address, "rtc_1")
    read: list[Recorded] = []
    with pytest.raises(EventLogError, match="a part of the event log is missing"):
        read.extend(steps)
    assert not read or not isinstance(read[-1].event, ev.HangUp)


def test_a_log_that_was_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    path = a_file(tmp_path / "log.jsonl")
    whole = len(list(read_log(local_store(tmp_path), str(path))[1]))
    path.write_bytes(path.read_bytes()[:-20])
    assert len(list(read_log(local_store(tmp_path), str(path))[1])) == whole - 1


def test_a_full_log_ends_and_the_call_goes_on(address: StoreAddress, caplog: pytest.LogCaptureFixture) -> None:
    a_log(address, "whole")
    full = len(b"".join(log_bytes(address, "whole").splitlines(keepends=True)[:4]))
    for most in (full - 1, full, full + 1):
        caplog.clear()
        a_log(address, f"most_{most}", most)
        assert 0 < len(log_bytes(address, f"most_{most}")) <= most
        assert list(read_log(address, f"most_{most}")[1])
        assert [record.message for record in caplog.records if "ends here" in record.message]


def test_a_store_that_cannot_be_made_costs_one_line_and_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "data").write_text("not a folder")
    lost = a_log(local_store(tmp_path / "data"))
    (line,) = [record.message for record in caplog.records]
    assert "event log steps are not kept" in line
    assert lost.counts["event log steps"] > 10


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not an event log"),
        ("hello\n", "is not an event log"),
        ('{"format":9,"version":"7.0","call_id":"c","rules":{}}\n', "has format 9, of voiceagent 7.0"),
        ('{"format":1,"version":"0","call_id":"c","rules":{"greeting":"Hello."}}\n', "has format 1, of voiceagent 0"),
        (f'{{"format":{FORMAT},"version":"0","call_id":"c","rules":{{"greeting":"Hello."}}}}\n', "unknown field `greeting`"),
    ],
)
def test_what_is_no_log_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(EventLogError, match=problem):
        read_log(local_store(tmp_path), str(file))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{}", "is not a step"),
        ('["CallStarted",{"at_ms":"soon"},[]]', "is not a step"),
        ('["Surprise",{},[]]', "names 'Surprise', which this voiceagent does not know"),
    ],
)
def test_a_line_that_is_no_step_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{{"format":{FORMAT},"version":"0","call_id":"c","rules":{{}}}}\n{line}\n')
    with pytest.raises(EventLogError, match=f"x.jsonl:2: {problem}"):
        list(read_log(local_store(tmp_path), str(file))[1])


@pytest.mark.parametrize("call", ["rtc_2", "../rtc_1", "", "rtc_1.jsonl"])
def test_a_call_without_a_log_is_told(address: StoreAddress, call: str) -> None:
    with pytest.raises(EventLogError, match="no event log of a call"):
        read_log(address, call)
    a_log(address)
    assert logged_calls(address) == ["rtc_1"]
    with pytest.raises(EventLogError, match="no event log of a call"):
        read_log(address, call)


def test_frames_that_cause_nothing_keep_their_place_and_are_not_lost_at_the_end(address: StoreAddress) -> None:
    writer = StoreWriter(address)
    log = EventLog(StoredLog(writer, "rtc_1"), "rtc_1", RULES)
    steps: list[ev.Event] = [ev.Played(float(number), 1, 0, 20.0 * number) for number in range(2 * MOST_FRAMES + 3)]
    steps.insert(5, ev.TimerFired(4.5, "reply"))
    for step in steps:
        log.record(step, ())
    log.close()
    writer.close()
    assert [step.event for step in read_log(address, "rtc_1")[1]] == steps
