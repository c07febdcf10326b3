import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.store.test_event_log import a_file, a_log
from voiceagent.store.database import local_store

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    return tmp_path


def test_a_call_is_shown_and_found_the_same(voiceagent: Run, data: Path) -> None:
    a_log(local_store(data))
    outcome = voiceagent("replay", "rtc_1")
    assert outcome.code == 0
    assert "SpeculationEnded(reply_id=2 outcome='kept' tokens=1)" in outcome.out
    assert outcome.out.splitlines()[-1].endswith("none different")
    assert len(outcome.out.splitlines()) < len(voiceagent("replay", "rtc_1", "--all").out.splitlines())
    assert len(voiceagent("replay", "rtc_1", "--quiet").out.splitlines()) == 1


def test_another_decision_fails_and_is_shown(voiceagent: Run, data: Path) -> None:
    path = a_file(data / "log.jsonl")
    path.write_text(path.read_text().replace('"greeting":"Hello."', '"greeting":"Good day."'))
    outcome = voiceagent("replay", str(path), "--quiet")
    assert outcome.code == 1
    assert "different\nfirst at line 2:" in outcome.out
    assert "Speak(reply_id=1 clause=0 text='Hello.')" in outcome.out
    assert "Speak(reply_id=1 clause=0 text='Good day.')" in outcome.out
    verdict = json.loads(voiceagent("replay", str(path), "--json").out)
    assert verdict["call"] == "rtc_1"
    assert verdict["different"][0] == 2


def test_a_damaged_log_is_replayed_up_to_the_damage(voiceagent: Run, data: Path) -> None:
    path = a_file(data / "log.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:9], "damage", *lines[9:]]) + "\n")
    outcome = voiceagent("replay", str(path), "--quiet")
    assert outcome.code == 2
    assert outcome.out.startswith("rtc_1: 8 events, ")
    assert "log.jsonl:10: is not a step of a call" in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_call_that_was_not_recorded_is_one_line(voiceagent: Run) -> None:
    outcome = voiceagent("replay", "rtc_9")
    assert outcome.code == 2
    assert outcome.err.startswith("error: no event log of a call 'rtc_9'")
