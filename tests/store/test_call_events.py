"""Kept calls as conversations. The calls are of the real turn engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conversation.world import World
from tests.store.calls import Played, keep_call, talk
from tests.store.test_event_log import play_call
from voiceagent.cli.calls import line
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules, StepRule
from voiceagent.settings.agent import Keep
from voiceagent.store.call_events import CallEvents, transcript
from voiceagent.store.database import local_store
from voiceagent.store.records import all_events
from voiceagent.store.schema import reading
from voiceagent.turn_taking.endpointing import Prosody


def lines(folder: Path, play: Played = play_call, *, keep: Keep = "transcripts") -> list[str]:
    """Without the times."""
    keep_call(local_store(folder), keep=keep, play=play)
    with reading(local_store(folder)) as database:
        return [line(entry)[10:] for entry in transcript(all_events(database, "rtc_1"))]


def test_a_call_reads_like_a_conversation(tmp_path: Path) -> None:
    assert lines(tmp_path) == [
        "agent   Hello.",
        "caller  What's the weather in Paris?",
        'tool    book({}) → {"ok": true} (0 ms)',
        "agent   It is (not heard: sunny in Paris.)  [cut the caller off]",
        "caller  No, wait.",
        "call    ended: hangup",
    ]


def test_without_words_it_says_how_many_there_were(tmp_path: Path) -> None:
    assert lines(tmp_path, keep="facts") == [
        "agent   (1 words)",
        "caller  (5 words)",
        "tool    book(…) → … (0 ms)",
        "agent   (2 words) (not heard: (3 words))  [cut the caller off]",
        "caller  (2 words)",
        "call    ended: hangup",
    ]


def interrupted(world: World) -> None:
    world.begin()
    world.play_all()
    world.feed(ev.TextReceived(world.now_ms, "Tell\nme \x1b[31mmore."))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.answer("There is a lot to tell about this, and it takes a while to tell it.")
    world.synthesise_all()
    world.frames(80)
    world.say("No, wait.")
    world.settle()


def test_a_long_interruption_and_a_typed_message_are_told(tmp_path: Path) -> None:
    told = lines(tmp_path, talk()(interrupted))
    assert told[1] == "caller  Tell\nme \x1b[31mmore.  [typed]"
    assert told[2].startswith("agent   There is")
    assert told[2].endswith("[interrupted by the caller]")


def not_understood(world: World) -> None:
    world.begin()
    for voiced_ms in (400.0, 3500.0):
        world.speech()
        world.feed(ev.SpeechPaused(world.now_ms, world.utterance, world.utterance, world.now_ms, voiced_ms, Prosody()))
        world.endpoint()
        world.finals.clear()
        world.feed(ev.FinalTranscript(world.now_ms, world.utterance, "", world.utterance))
        world.play_all()


def test_speech_that_was_not_understood_is_told_from_a_sound(tmp_path: Path) -> None:
    assert lines(tmp_path, talk(Rules(language="en"))(not_understood))[:3] == [
        "caller    [nothing was understood]",
        "caller    [nothing was understood; it sounds like a turn]",
        "agent   Sorry, I didn't catch that.",
    ]


def test_what_cannot_be_read_is_left_out() -> None:
    damage = (
        "{}",
        "[]",
        "words",
        '{"type":"agent.said","at_ms":1}',
        '{"type":"caller.started","at_ms":"x"}',
        '{"type":"new.kind","at_ms":1}',
    )
    assert transcript(damage) == []


@pytest.mark.parametrize(
    ("words", "said"), [(True, ["I need a table.", "On which", "day?"]), (False, ["(4 words)", "(2 words)", "(1 words)"])]
)
def test_what_was_said_until_the_server_was_killed_is_told_in_the_call_that_goes_on(words: bool, said: list[str]) -> None:
    events = CallEvents()
    last = (act.CallerFinal(1, "I need a table."), act.ReplyEnded(2, "interrupted", "On which", "day?"))
    told = [events.went_on("rtc_0"), *events.of_actions(last, 0.0)]
    link, caller, agent = transcript(event.line(words=words).decode() for event in told)
    assert (link.who, link.text) == ("call", "goes on from call rtc_0, which another server has left")
    assert (caller.who, agent.who) == ("caller", "agent")
    assert [caller.text, agent.text, agent.unheard] == said


def test_the_steps_of_the_agent_are_told(tmp_path: Path) -> None:
    assert (
        lines(tmp_path, talk(Rules(language="en", steps={"reason": StepRule()}))(interrupted))[0]
        == "call    the step is reason now"
    )
