import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.store.test_event_log import RULES, a_call
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.store.event_log import EventLog, event_logs_dir

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    return event_logs_dir(tmp_path)


def test_calls_are_listed_with_their_length_turns_and_end(voiceagent: Run, folder: Path) -> None:
    a_call(folder, "rtc_1a")
    outcome = voiceagent("calls", "list")
    assert (outcome.code, outcome.err) == (0, "")
    head, row = outcome.out.splitlines()
    assert head.split() == ["began", "call", "length", "turns", "ended", "by", "agent"]
    assert "rtc_1a" in row
    assert row.split()[-4:] == ["2", "hangup", "–", "–"]
    (found,) = json.loads(voiceagent("calls", "list", "--json").out)
    assert (found["call"], found["turns"], found["ended"], found["problem"]) == ("rtc_1a", 2, "hangup", None)


def test_without_kept_calls_one_line_says_how_they_are_kept(voiceagent: Run) -> None:
    outcome = voiceagent("calls", "list")
    assert outcome.code == 2
    assert "serve --event-logs N" in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_call_is_found_by_the_beginning_of_its_id(voiceagent: Run, folder: Path) -> None:
    a_call(folder, "rtc_1a")
    a_call(folder, "rtc_1b")
    for name in ("rtc_1a", "1a", "rtc_1b"):
        assert "It is (not heard: sunny in Paris.)" in voiceagent("calls", "show", name).out
    outcome = voiceagent("calls", "show", "1")
    assert outcome.code == 2
    assert outcome.err.splitlines() == ["error: 2 calls begin with '1': rtc_1a, rtc_1b; write more of the id"]
    outcome = voiceagent("calls", "show", "2")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert voiceagent("replay", "1a", "--quiet").code == 0


def test_an_id_that_another_begins_with_is_found(voiceagent: Run, folder: Path) -> None:
    a_call(folder, "rtc_1")
    a_call(folder, "rtc_12")
    assert voiceagent("calls", "show", "rtc_1").out.startswith("rtc_1  ")


def test_replay_prints_the_conversation_too(voiceagent: Run, folder: Path) -> None:
    a_call(folder)
    shown = voiceagent("calls", "show", "rtc_1")
    assert voiceagent("replay", "rtc_1", "--transcript") == shown
    found = json.loads(voiceagent("replay", "rtc_1", "--transcript", "--json").out)
    assert [entry["who"] for entry in found["conversation"]] == ["agent", "caller", "tool", "agent", "caller", "call"]


def test_nothing_is_cut_and_nothing_moves_the_cursor(voiceagent: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = f"{'a very long word, ' * 50}the end"
    log = EventLog(folder, "rtc_1", RULES)
    log.record(ev.CallStarted(0.0), (act.CallerFinal(1, f"\x1b[2J{long}"),))
    log.close()
    out = voiceagent("calls", "show", "rtc_1").out
    assert f"\\x1b[2J{long}" in out
    assert "\x1b" not in out
    assert long in voiceagent("replay", "rtc_1").out


def test_a_damaged_log_is_one_line_and_the_rest_is_shown(voiceagent: Run, folder: Path) -> None:
    path = a_call(folder).path
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:9], "damage", *lines[9:]]) + "\n")
    outcome = voiceagent("calls", "show", "rtc_1")
    assert "It is (not heard: sunny in Paris.)" in outcome.out
    assert outcome.err.splitlines() == ["error: rtc_1: line 10 is damaged; what can be read is shown"]
    outcome = voiceagent("calls", "list")
    assert (outcome.code, outcome.err.splitlines()) == (0, ["rtc_1: line 10 is damaged"])
    outcome = voiceagent("replay", "rtc_1", "--quiet")
    assert outcome.code == 2
    assert outcome.out.startswith("rtc_1: 8 events, ")
    assert "rtc_1.jsonl:10: is not a step of a call" in outcome.err
    assert len(outcome.err.splitlines()) == 1
