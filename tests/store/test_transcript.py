"""Kept calls as conversations. The logs are of the real turn engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conversation.world import World
from tests.store.test_event_log import RULES, a_call
from voiceagent.cli.conversation import line
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules
from voiceagent.store.event_log import EventLog, Origin
from voiceagent.store.kept_call import kept_calls, read_kept
from voiceagent.store.transcript import transcript
from voiceagent.turn_taking.pause import Prosody


def lines(path: Path) -> list[str]:
    """Without the times."""
    return [line(entry)[10:] for entry in transcript(read_kept(path))]


def test_a_call_reads_like_a_conversation(tmp_path: Path) -> None:
    path = a_call(tmp_path).path
    assert lines(path) == [
        "agent   Hello.",
        "caller  What's the weather in Paris?",
        'tool    book({}) → {"ok": true} (0 ms)',
        "agent   It is (not heard: sunny in Paris.)  [cut the caller off]",
        "caller  No, wait.",
        "call    ended: hangup",
    ]


def test_the_head_says_whose_call_it_was(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "rtc_1", RULES, origin=Origin("Front desk", "telephone", 1_700_000_000.0))
    log.record(ev.CallStarted(0.0), ())
    assert read_kept(log.path).goes_on
    log.close()
    call = read_kept(log.path)
    assert (call.agent, call.leg, call.at, call.goes_on) == ("Front desk", "telephone", 1_700_000_000.0, False)
    assert (call.turns, call.ended, call.problem) == (0, "", "")


def test_a_log_of_before_is_read_without_it(tmp_path: Path) -> None:
    path = a_call(tmp_path).path
    path.write_text(path.read_text().replace('"origin"', '"unknown"', 1))
    call = read_kept(path)
    assert (call.agent, call.turns, call.ended) == ("", 2, "hangup")
    assert call.at == pytest.approx(path.stat().st_mtime - call.length_ms / 1000)


def test_a_long_interruption_and_a_typed_message_are_told(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "rtc_2", RULES)
    world = World(RULES, log.record)
    world.begin()
    world.play_all()
    world.feed(ev.TextReceived(world.now_ms, "Tell\nme \x1b[31mmore."))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.answer("There is a lot to tell about this, and it takes a while to tell it.")
    world.synthesise_all()
    world.frames(80)
    world.say("No, wait.")
    world.settle()
    log.close()
    told = lines(log.path)
    assert told[1] == "caller  Tell\nme \x1b[31mmore.  [typed]"
    assert told[2].startswith("agent   There is")
    assert told[2].endswith("[interrupted by the caller]")


def test_speech_that_was_not_understood_is_told_from_a_sound(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "rtc_3", Rules(language="en"))
    world = World(Rules(language="en"), log.record)
    world.begin()
    for voiced_ms in (400.0, 3500.0):
        world.speech()
        world.feed(ev.SpeechPaused(world.now_ms, world.utterance, world.utterance, world.now_ms, voiced_ms, Prosody()))
        world.endpoint()
        world.finals.clear()
        world.feed(ev.FinalTranscript(world.now_ms, world.utterance, "", world.utterance))
        world.play_all()
    log.close()
    assert lines(log.path) == [
        "caller    [nothing was understood]",
        "caller    [nothing was understood; it sounds like a turn]",
        "agent   Sorry, I didn't catch that.",
    ]


DAMAGED = (
    b"{}",
    b"\xff\xfe",
    b'["ReplyEnded",{},[]]',
    b'["CallStarted",{"at_ms":1e300},[]]',
    b'["X",{"at_ms":1},[["CallerFinal",{}]]]',
)


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_costs_one_line_and_no_more(tmp_path: Path, damage: bytes) -> None:
    path = a_call(tmp_path).path
    whole = lines(path)
    written = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*written[:9], damage, *written[9:]]))
    call = read_kept(path)
    assert [line(entry)[10:] for entry in transcript(call)] == whole
    assert call.problem == "line 10 is damaged"


def test_a_log_that_was_cut_short_says_so(tmp_path: Path) -> None:
    path = a_call(tmp_path).path
    path.write_bytes(path.read_bytes()[:-20])
    assert read_kept(path).problem.endswith("is cut short")


def test_what_is_no_log_at_all_has_no_conversation(tmp_path: Path) -> None:
    for name, text in (("a", ""), ("b", "hello\nyou\n"), ("c", "[1]\n"), ("d", '{"origin": 3}\n')):
        (tmp_path / f"{name}.jsonl").write_text(text)
        call = read_kept(tmp_path / f"{name}.jsonl")
        assert transcript(call) == []
        assert call.problem.startswith("line 1 is not")


def test_calls_are_listed_newest_first_and_folders_are_none(tmp_path: Path) -> None:
    for number in (1, 3, 2):
        path = a_call(tmp_path, f"rtc_{number}").path
        os.utime(path, (number, number))
    (tmp_path / "folder.jsonl").mkdir()
    assert [path.stem for path in kept_calls(tmp_path)] == ["rtc_3", "rtc_2", "rtc_1"]
    assert kept_calls(tmp_path / "nowhere") == []
