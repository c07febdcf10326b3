import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.conversation.world import World
from tests.store.calls import keep_call, talk
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.store.database import StoreAddress, local_store

Run = Callable[..., Outcome]
HOUR_S = 3600.0


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreAddress:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    return local_store(tmp_path)


def listed(voiceagent: Run, *options: str) -> list[str]:
    return [call["call"] for call in json.loads(voiceagent("calls", "list", "--json", *options).out)]


def test_calls_are_listed_with_their_length_turns_and_end(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1a")
    outcome = voiceagent("calls", "list")
    assert (outcome.code, outcome.err) == (0, "")
    head, row = outcome.out.splitlines()
    assert head.split() == ["began", "call", "length", "turns", "ended", "by", "agent"]
    assert row.split()[2:] == ["rtc_1a", "0:00.6", "2", "hangup", "webrtc", "Front", "desk"]
    (found,) = json.loads(voiceagent("calls", "list", "--json").out)
    assert (found["call"], found["turns"], found["outcome"], found["goes_on"]) == ("rtc_1a", 2, "hangup", False)
    assert found["tools"] == [{"name": "book", "ok": True, "took_ms": 0.0}]
    assert found["voice_to_voice_ms"] == [700.5]


def test_calls_are_chosen_by_time_leg_agent_and_id(voiceagent: Run, store: StoreAddress) -> None:
    now_s = time.time()
    keep_call(store, "rtc_1", started=now_s - 50 * HOUR_S)
    keep_call(store, "rtc_2", started=now_s - 2 * HOUR_S, leg="telephone")
    keep_call(store, "rtc_3", started=now_s - 0.5 * HOUR_S, agent="Night desk")
    assert listed(voiceagent) == ["rtc_3", "rtc_2", "rtc_1"]
    assert listed(voiceagent, "--since", "3h") == ["rtc_3", "rtc_2"]
    assert listed(voiceagent, "--since", "90m") == ["rtc_3"]
    assert listed(voiceagent, "--until", "2d") == ["rtc_1"]
    assert listed(voiceagent, "--until", "2020-01-31T12:00") == []
    assert listed(voiceagent, "--since", "2020-01-31", "--leg", "telephone") == ["rtc_2"]
    assert listed(voiceagent, "--agent", "Night desk") == ["rtc_3"]
    assert listed(voiceagent, "--id", "2") == ["rtc_2"]
    assert listed(voiceagent, "--last", "1") == ["rtc_3"]


def test_a_time_that_is_none_is_one_line(voiceagent: Run) -> None:
    outcome = voiceagent("calls", "list", "--since", "yesterday")
    assert outcome.code == 2
    assert "'yesterday' is no time; expected 2026-11-26, 2026-11-26T14:30, or how long ago: 90m, 2h, 7d, 4w" in outcome.err


@pytest.mark.parametrize("command", [("list",), ("show", "1"), ("export", "1"), ("delete", "1"), ("export",)])
def test_without_kept_calls_one_line_says_so(voiceagent: Run, command: tuple[str, ...]) -> None:
    outcome = voiceagent("calls", *command)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1


def test_where_no_call_fits_one_line_says_how_they_are_kept(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store)
    for command in ("list", "export"):
        outcome = voiceagent("calls", command, "--agent", "Nobody")
        assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
        assert "records.keep" in outcome.err


def test_a_call_is_found_by_the_beginning_of_its_id(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1a")
    keep_call(store, "rtc_1b")
    for name in ("rtc_1a", "1a", "rtc_1b"):
        assert "It is (not heard: sunny in Paris.)" in voiceagent("calls", "show", name).out
    outcome = voiceagent("calls", "show", "1")
    assert outcome.code == 2
    assert outcome.err.splitlines() == ["error: 2 calls begin with '1': rtc_1a, rtc_1b; write more of the id"]
    outcome = voiceagent("calls", "show", "2")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert voiceagent("replay", "1a", "--quiet").code == 0


def test_an_id_that_another_begins_with_is_found(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1")
    keep_call(store, "rtc_12")
    assert voiceagent("calls", "show", "rtc_1").out.startswith("rtc_1  ")


def test_replay_prints_the_conversation_too(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store)
    shown = voiceagent("calls", "show", "rtc_1")
    assert voiceagent("replay", "rtc_1", "--transcript") == shown
    found = json.loads(voiceagent("replay", "rtc_1", "--transcript", "--json").out)
    assert [entry["who"] for entry in found["conversation"]] == ["agent", "caller", "tool", "agent", "caller", "call"]


def test_nothing_is_cut_and_nothing_moves_the_cursor(
    voiceagent: Run, store: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = f"{'a very long word, ' * 50}the end"
    keep_call(
        store, agent="\x1b[2Jdesk", play=lambda record: record(ev.CallStarted(0.0), (act.CallerFinal(1, f"\x1b[2J{long}"),))
    )
    out = voiceagent("calls", "show", "rtc_1").out
    assert f"\\x1b[2J{long}" in out
    assert "\x1b" not in out + voiceagent("calls", "list").out
    assert long in voiceagent("replay", "rtc_1").out


def test_a_call_is_exported_as_lines_of_json(voiceagent: Run, store: StoreAddress, tmp_path: Path) -> None:
    keep_call(store, "rtc_1a")
    lines = [json.loads(line) for line in voiceagent("calls", "export", "1a").out.splitlines()]
    assert [line["type"] for line in lines[:2]] == ["call.record", "call.started"]
    assert (lines[0]["call"], lines[0]["voice_to_voice_ms"]) == ("rtc_1a", [700.5])
    assert [line["text"] for line in lines if line["type"] == "caller.said"] == ["What's the weather in Paris?", "No, wait."]
    assert [line["heard"] for line in lines if line["type"] == "agent.said"] == ["Hello.", "It is"]
    assert [line["output"] for line in lines if line["type"] == "tool.ended"] == ['{"ok": true}']
    assert [line["number"] for line in lines[1:]] == list(range(1, len(lines)))


def test_several_calls_are_exported_into_a_folder_of_their_owner(voiceagent: Run, store: StoreAddress, tmp_path: Path) -> None:
    keep_call(store, "rtc_1a")
    keep_call(store, "rtc_1b")
    outcome = voiceagent("calls", "export", "--since", "2020-01-01")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--out" in outcome.err
    out = tmp_path / "new" / "week"
    assert voiceagent("calls", "export", "--since", "2020-01-01", "--out", str(out)).code == 0
    assert sorted(path.name for path in out.iterdir()) == ["rtc_1a.jsonl", "rtc_1b.jsonl"]
    assert not [path for path in (out, *out.iterdir()) if path.stat().st_mode & 0o077]


def test_an_exported_event_log_replays(voiceagent: Run, store: StoreAddress, tmp_path: Path) -> None:
    keep_call(store)
    file = tmp_path / "log.jsonl"
    file.write_text(voiceagent("calls", "export", "rtc_1", "--event-log").out)
    assert voiceagent("replay", str(file), "--quiet").out == voiceagent("replay", "rtc_1", "--quiet").out
    keep_call(store, "rtc_2", keep="transcripts")
    assert "no event log of a call 'rtc_2'" in voiceagent("calls", "export", "rtc_2", "--event-log").err


def test_a_deleted_call_is_gone_with_its_recording(voiceagent: Run, store: StoreAddress, tmp_path: Path) -> None:
    recording = tmp_path / "rtc_1a.wav"
    recording.write_bytes(b"RIFF")
    keep_call(store, "rtc_1a", recording=str(recording))
    keep_call(store, "rtc_1b")
    outcome = voiceagent("calls", "delete", "1a", "--yes")
    assert (outcome.code, outcome.out) == (0, "1 call deleted\n")
    assert not recording.exists()
    assert listed(voiceagent) == ["rtc_1b"]
    assert voiceagent("report", "--call", "rtc_1a").code == 2
    assert voiceagent("replay", "rtc_1a").code == 2


def test_nothing_is_deleted_without_a_choice_or_a_yes(
    voiceagent: Run, store: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_call(store)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert "name calls, or choose them" in voiceagent("calls", "delete", "--yes").err
    assert voiceagent("calls", "delete", "rtc_1").code == 130
    assert listed(voiceagent) == ["rtc_1"]


def test_a_call_whose_recording_stays_is_kept_and_told(voiceagent: Run, store: StoreAddress, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    keep_call(store, recording=str(tmp_path / "folder"))
    outcome = voiceagent("calls", "delete", "rtc_1", "--yes")
    assert outcome.code == 1
    assert "its recording" in outcome.err
    assert listed(voiceagent) == ["rtc_1"]


def test_a_call_that_goes_on_is_not_deleted(voiceagent: Run, store: StoreAddress) -> None:
    def greeted(world: World) -> None:
        world.begin()

    keep_call(store, "rtc_1", started=time.time(), play=talk()(greeted), ends=False)
    keep_call(store, "rtc_2")
    outcome = voiceagent("calls", "delete", "--since", "2020-01-01", "--yes")
    assert (outcome.code, outcome.out) == (1, "1 call deleted\n")
    assert outcome.err == "rtc_1 goes on and stays; hang it up first\n"
    assert "goes on" in voiceagent("calls", "list").out


def test_a_wrong_store_is_one_line(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_STORE", "mysql://voice:secret-word@db/calls")
    for command in ("list", "show x", "export x", "delete x"):
        outcome = voiceagent("calls", *command.split())
        assert outcome.code != 0
        assert len(outcome.err.splitlines()) == 1
        assert "expected postgresql://" in outcome.err
        assert "secret-word" not in outcome.err
