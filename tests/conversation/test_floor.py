"""What the agent's voice does while the caller speaks over it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.conversation.world import WORD_MS, World
from voiceagent.conversation import actions as act
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.overlap import Manners

STORY = "Once upon a time there was a small house by the sea."
DUCK = Manners("duck", pause_after_ms=300, patience_ms=800, quiet_ms=500)
WAIT = Manners("go on", pause_after_ms=300, patience_ms=800, quiet_ms=500)


def telling(manners: Manners, frames: int = 14) -> World:
    """A call in which the agent is in the middle of a word of its story."""
    world = World(Rules(language="en", manners=manners))
    world.begin()
    world.say("Tell me a story.")
    world.answer(STORY)
    world.synthesise_all()
    world.frames(frames)
    return world


def done(world: World, kind: type[act.Action]) -> list[act.Action]:
    return [action for action in world.actions if isinstance(action, kind)]


def test_a_reply_that_is_spoken_over_is_said_softly_and_loud_again_after_a_noise() -> None:
    world = telling(DUCK)
    world.speech()
    assert world.gains == {1: -12.0}
    sent_ms = world.playout.queue[0].sent_ms
    world.frames(5)
    assert world.playout.queue[0].sent_ms == sent_ms + 100
    world.pause_with("")
    assert world.gains == {1: 0.0}
    assert not done(world, act.PauseReply)
    world.play_all()
    assert world.assistant_texts() == [STORY]


def test_one_that_waits_goes_on_as_loud_as_before() -> None:
    world = telling(WAIT)
    world.speech()
    world.overlap(200.0)
    world.pause_with("Mm-hm.")
    assert not done(world, act.Attenuate)
    assert not done(world, act.PauseReply)
    world.play_all()
    assert world.assistant_texts() == [STORY]


@pytest.mark.parametrize("manners", [DUCK, WAIT])
def test_speech_that_lasts_pauses_the_reply_and_words_drop_it(manners: Manners) -> None:
    world = telling(manners)
    world.speech()
    world.overlap(280.0)
    assert not world.playout.paused
    world.overlap(300.0)
    assert world.playout.paused == {1}
    world.now_ms += 400
    world.partial("Tell me about the weather")
    assert world.dropped == {1}


def test_first_words_that_are_no_backchannel_pause_the_reply() -> None:
    world = telling(DUCK)
    world.speech()
    world.now_ms += 220
    world.partial("I need")
    assert world.playout.paused == {1}
    assert not world.drops


def test_first_words_that_are_one_give_it_time() -> None:
    world = telling(DUCK)
    world.speech()
    world.now_ms += 100
    world.partial("Okay")
    world.overlap(500.0)
    assert not world.playout.paused


def test_a_reply_of_which_nothing_was_heard_is_not_begun_over_the_caller() -> None:
    world = telling(DUCK, frames=0)
    world.speech()
    world.frames(3)
    assert world.playout.paused == {1}
    assert not world.played


def test_soon_after_a_noise_that_paused_it_the_reply_goes_on_from_the_beginning_of_the_cut_word() -> None:
    world = telling(DUCK)
    world.speech()
    world.overlap(300.0)
    assert world.playout.queue[0].sent_ms % WORD_MS
    world.pause_with("")
    assert world.timers["go_on"] == world.now_ms - 100 + 240
    world.fire("go_on")
    assert done(world, act.ResumeReply) == [act.ResumeReply(1, 0, WORD_MS)]
    world.play_all()
    assert world.assistant_texts() == [STORY]
    heard = [action.heard for action in world.actions if isinstance(action, act.ReplyHeard)]
    assert heard[:3] == ["", "Once", "Once upon"], "no word counts twice"


def test_between_two_words_it_goes_on_from_where_it_was_held() -> None:
    world = telling(DUCK, frames=20)
    world.speech()
    world.overlap(300.0)
    world.pause_with("")
    world.fire("go_on")
    assert done(world, act.ResumeReply) == [act.ResumeReply(1)]


def test_after_a_backchannel_that_paused_it_the_reply_waits_a_little() -> None:
    world = telling(DUCK)
    world.speech()
    world.overlap(300.0)
    world.pause_with("Good.")
    assert world.playout.paused == {1}
    assert world.timers["go_on"] == world.now_ms - 100 + 500
    world.fire("go_on")
    assert not world.playout.paused
    assert world.state.phase is Phase.SPEAKING
    world.play_all()
    assert world.assistant_texts() == [STORY]


def test_an_interruption_that_begins_with_a_backchannel_does_not_bring_the_old_reply_back() -> None:
    world = telling(DUCK)
    world.speech()
    world.overlap(300.0)
    world.pause_with("Good.")
    world.speech()
    assert "go_on" not in world.timers
    assert world.playout.paused == {1}
    world.now_ms += 400
    world.partial("In Venice, please")
    assert world.dropped == {1}
    assert not done(world, act.ResumeReply)


def test_a_reply_that_ends_while_somebody_coughs_is_over_and_nothing_stays_soft() -> None:
    world = telling(DUCK)
    world.speech()
    world.play_all()
    assert [ending.status for ending in world.endings()] == ["completed"]
    assert world.state.reply is None or world.state.reply.voice == "full"
    world.pause_with("")
    world.endpoint()
    assert world.state.phase is Phase.IDLE


def test_words_over_the_end_of_a_reply_are_answered_when_they_go_on_after_it() -> None:
    world = telling(WAIT)
    world.speech()
    world.play_all()
    world.pause_with("And what happened to the house?")
    world.endpoint()
    assert world.user_texts()[-1] == "And what happened to the house?"
    assert world.generations


HUSH = Manners("duck", pause_after_ms=260, patience_ms=1000, quiet_ms=240, nothing_ms=0, hush_after_ms=100, hush_ms=180)


def hushed_by(first_ms: float, *later: tuple[float, float, float | None]) -> World:
    """A call in which `first_ms` of sound hush the reply; then a frame every 20 ms with (voiced, silence, chance of words)."""
    world = telling(HUSH)
    world.speech()
    world.overlap(first_ms)
    assert world.playout.paused == {1}
    for voiced_ms, silence_ms, chance in later:
        world.now_ms += 20
        world.overlap(voiced_ms, silence_ms, chance)
    return world


def test_a_sound_that_ends_soon_hushes_the_reply_for_less_than_a_quarter_of_a_second() -> None:
    world = hushed_by(100.0, *((120.0 + min(at, 5) * 20, max(0, at - 5) * 20.0, 0.8) for at in range(8)))
    assert world.playout.paused == {1}
    world.now_ms += 20
    world.overlap(220.0, 80.0, 0.8)
    assert not world.playout.paused
    assert world.gains == {1: -12.0}, "it goes on softly"
    assert done(world, act.ResumeReply) == [act.ResumeReply(1, 0, WORD_MS)]
    world.pause_with("Okay.")
    assert world.gains == {1: 0.0}
    assert len(done(world, act.PauseReply)) == 1
    world.play_all()
    assert world.assistant_texts() == [STORY]


def test_speech_that_goes_on_keeps_a_hushed_reply_silent_until_its_words_are_known() -> None:
    world = hushed_by(100.0, *((120.0 + at * 20, 0.0, 0.8) for at in range(12)), *((360.0, at * 20.0, 0.8) for at in range(9)))
    assert world.playout.paused == {1}
    assert len(done(world, act.PauseReply)) == 1
    world.pause_with("Tell me about the weather instead.")
    assert world.dropped == {1}


def test_a_cough_that_goes_on_does_not() -> None:
    world = hushed_by(100.0, *((120.0 + at * 20, 0.0, 0.1) for at in range(40)))
    assert not world.playout.paused
    world.pause_with("Get me out!")
    assert not world.dropped
    world.play_all()
    assert world.assistant_texts() == [STORY]


def test_a_sound_that_is_unlike_words_hushes_nothing_from_the_beginning() -> None:
    world = telling(HUSH)
    world.speech()
    for at in range(1, 60):
        world.overlap(at * 20.0, 0.0, 0.05)
    assert not world.playout.paused


def test_a_command_stops_the_agent_whatever_it_sounds_like() -> None:
    world = hushed_by(100.0, (120.0, 0.0, 0.1))
    world.partial("Stop.")
    assert world.dropped == {1}


def test_words_stop_a_reply_that_went_on_again() -> None:
    world = hushed_by(100.0, *((220.0, at * 20.0, 0.8) for at in range(3, 14)))
    assert not world.playout.paused
    world.pause_with("No.")
    assert world.dropped == {1}


def test_laughter_that_nobody_takes_for_words_does_not_take_the_floor_by_its_length() -> None:
    world = telling(HUSH)
    world.speech()
    world.overlap(900.0, 0.0, 0.1)
    world.fire("overlap")
    assert not world.dropped
    world.overlap(1200.0, 0.0, 0.9)
    world.fire("overlap")
    assert world.dropped == {1}


def test_a_reply_goes_on_when_the_words_of_a_short_sound_are_late_and_stops_when_they_come() -> None:
    world = telling(replace(HUSH, unknown_ms=240.0))
    world.speech()
    for voiced_ms in range(100, 300, 20):
        world.now_ms += 20
        world.overlap(voiced_ms, 0.0, 0.9)
    assert world.state.reply is not None
    assert world.state.reply.voice == "paused"
    world.pause()
    for silence_ms in range(100, 260, 20):
        assert world.playout.paused == {1}
        world.now_ms += 20
        world.overlap(280.0, float(silence_ms), 0.9)
    assert not world.playout.paused
    world.final("Tell me about the weather instead.")
    assert world.dropped == {1}


def test_a_laugh_that_sounded_like_words_for_a_moment_lets_the_reply_go_on() -> None:
    world = hushed_by(100.0, *((120.0 + at * 20, 0.0, 0.6) for at in range(10)))
    assert world.state.reply is not None
    assert world.state.reply.voice == "paused"
    world.now_ms += 20
    world.overlap(320.0, 0.0, 0.2)
    assert not world.playout.paused
    assert not world.dropped
