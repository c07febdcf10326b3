import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conversation.world import World
from voiceagent.conversation import events as ev
from voiceagent.conversation.machine import replay
from voiceagent.conversation.rules import EndpointingRules, Phrases, Rules, SpeculationRules
from voiceagent.store.event_log import MAX_LOG_BYTES, EventLog, EventLogError, find_log, read_log
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.pause import Prosody

RULES = Rules(
    language="en", phrases=Phrases(greeting="Hello."), endpointing=EndpointingRules(model=EndpointModel(speculate_from=0.0))
)


def a_call(folder: Path, call_id: str = "rtc_1", keep: int = 5, most_bytes: int = MAX_LOG_BYTES) -> EventLog:
    """A greeting, a speculative reply that is kept, a tool, an interruption, a hang-up."""
    log = EventLog(folder, call_id, RULES, keep=keep, most_bytes=most_bytes)
    world = World(RULES, log.record)
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
    log.close()
    return log


def test_a_recorded_call_is_decided_the_same_again(tmp_path: Path) -> None:
    head, steps = read_log(a_call(tmp_path / "calls").path)
    recorded = list(steps)
    assert (head.call_id, head.rules) == ("rtc_1", RULES)
    assert recorded[0].event == ev.CallStarted(0.0)
    assert isinstance(recorded[-1].event, ev.HangUp)
    again = list(replay(head.rules, ((step.event, step.actions) for step in recorded)))
    assert len(again) == len(recorded)
    assert all(step.same for step in again)


def test_another_rule_is_another_decision(tmp_path: Path) -> None:
    head, steps = read_log(a_call(tmp_path).path)
    again = replay(
        Rules(phrases=Phrases(greeting="Hello."), speculation=SpeculationRules(max_replies=0)),
        ((step.event, step.actions) for step in steps),
    )
    assert not all(step.same for step in again)
    assert head.rules.speculation.max_replies == 3


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "rtc_1", RULES, keep=1)
    log.record(ev.SpeechPaused(np.float64(3.5), 1, 1, 2.0, 600.0, Prosody(energy_fall_db=np.float64(0.25))), ())
    log.close()
    (step,) = read_log(log.path)[1]
    assert step.event == ev.SpeechPaused(3.5, 1, 1, 2.0, 600.0, Prosody(energy_fall_db=0.25))


def test_only_the_newest_logs_stay(tmp_path: Path) -> None:
    for number in range(4):
        log = a_call(tmp_path, f"rtc_{number}", keep=2)
        os.utime(log.path, (number, number))
    assert sorted(path.stem for path in tmp_path.glob("*")) == ["rtc_2", "rtc_3"]


def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    a_call(tmp_path / "calls")
    assert (tmp_path / "calls").stat().st_mode & 0o077 == 0


def test_a_log_that_was_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    path = a_call(tmp_path).path
    whole = len(list(read_log(path)[1]))
    path.write_bytes(path.read_bytes()[:-20])
    assert len(list(read_log(path)[1])) == whole - 1


def test_a_full_log_ends_and_the_call_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = a_call(tmp_path / "whole").path.read_bytes().splitlines(keepends=True)
    full = len(b"".join(lines[:4]))
    for most in (full - 1, full, full + 1):
        caplog.clear()
        path = a_call(tmp_path / str(most), most_bytes=most).path
        assert 0 < path.stat().st_size <= most
        assert list(read_log(path)[1])
        assert [record.message for record in caplog.records if "ends here" in record.message]


def test_a_folder_that_cannot_be_made_costs_one_line_and_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "calls").write_text("not a folder")
    a_call(tmp_path / "calls")
    (line,) = [record.message for record in caplog.records]
    assert "the event log is not kept (File exists)" in line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not an event log"),
        ("hello\n", "is not an event log"),
        ('{"format":9,"version":"7.0","call_id":"c","rules":{}}\n', "has format 9, of voiceagent 7.0"),
        ('{"format":1,"version":"0","call_id":"c","rules":{"greeting":"Hello."}}\n', "has format 1, of voiceagent 0"),
        ('{"format":3,"version":"0","call_id":"c","rules":{"greeting":"Hello."}}\n', "unknown field `greeting`"),
    ],
)
def test_what_is_no_log_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(EventLogError, match=problem):
        read_log(file)


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
    file.write_text('{"format":3,"version":"0","call_id":"c","rules":{}}\n' + line + "\n")
    with pytest.raises(EventLogError, match=f"x.jsonl:2: {problem}"):
        list(read_log(file)[1])


@pytest.mark.parametrize("call", ["rtc_2", "../rtc_1", "", "rtc_1.jsonl"])
def test_a_call_without_a_log_is_told(tmp_path: Path, call: str) -> None:
    path = a_call(tmp_path / "calls").path
    assert find_log(tmp_path / "calls", "rtc_1") == path
    assert find_log(tmp_path / "calls", str(path)) == path
    with pytest.raises(EventLogError, match="no event log of a call"):
        find_log(tmp_path / "calls", call)


def started(folder: Path, call_id: str, keep: int) -> EventLog:
    """The log of a call that goes on."""
    log = EventLog(folder, call_id, RULES, keep=keep)
    log.record(ev.CallStarted(0.0), ())
    return log


def test_the_log_of_a_call_that_goes_on_is_never_removed(tmp_path: Path) -> None:
    first = started(tmp_path, "rtc_1", keep=1)
    second = started(tmp_path, "rtc_2", keep=1)
    second.close()
    assert first.path.is_file()
    os.utime(second.path, (1, 1))
    first.record(ev.HangUp(9.0, "hangup"), ())
    first.close()
    assert [step.event for step in read_log(first.path)[1]][-1] == ev.HangUp(9.0, "hangup")
    assert [path.stem for path in tmp_path.glob("*")] == ["rtc_1"]


def test_the_log_of_another_servers_call_is_not_removed_while_it_goes_on(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from voiceagent.store.event_log import EventLog; from voiceagent.conversation.rules import Rules;"
    )
    program += "log = EventLog(pathlib.Path(sys.argv[1]), 'rtc_1', Rules(), keep=1); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "open\n"
        a_call(tmp_path, "rtc_2", keep=1)
        assert (tmp_path / "rtc_1.jsonl").is_file()
        other.stdin.close()
        other.wait(10)
    os.utime(tmp_path / "rtc_1.jsonl", (1, 1))
    a_call(tmp_path, "rtc_3", keep=1)
    assert [path.stem for path in tmp_path.glob("*")] == ["rtc_3"]
