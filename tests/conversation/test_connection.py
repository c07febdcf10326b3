"""A call whose connection is lost, and comes back."""

from __future__ import annotations

import pytest

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.connection import AWAY, RETURN_MS
from voiceagent.conversation.rules import Limits, Phrases, Rules
from voiceagent.conversation.silence import SILENCE
from voiceagent.conversation.state import Phase

CUE = "We were cut off."
GREETING = "Hello there, how can I help you?"


def call(resume_timeout_ms: float = 60_000.0) -> World:
    world = World(
        Rules(
            language="en",
            phrases=Phrases(greeting=GREETING, resumed=CUE),
            limits=Limits(silence_timeout_ms=1000, resume_timeout_ms=resume_timeout_ms),
        )
    )
    world.begin()
    return world


def lose(world: World) -> None:
    world.feed(ev.ConnectionLost(world.now_ms))


def come_back(world: World) -> tuple[act.AnyAction, ...]:
    return world.feed(ev.ConnectionResumed(world.now_ms))


def resumed(actions: tuple[act.AnyAction, ...]) -> list[act.ResumeReply]:
    return [action for action in actions if isinstance(action, act.ResumeReply)]


def test_the_rest_of_a_reply_is_said_from_the_cut_word_on_after_a_cue() -> None:
    world = call()
    world.synthesise_all()
    world.frames(25)
    lose(world)
    assert any(isinstance(action, act.PauseReply) for action in world.actions)
    (found,) = resumed(come_back(world))
    assert (found.clause, found.from_ms, found.cue) == (1, 0.0, CUE)


def test_a_greeting_of_which_nothing_was_heard_needs_no_cue() -> None:
    world = call()
    lose(world)
    (found,) = resumed(come_back(world))
    assert found.cue == ""


def test_the_wait_counts_from_the_last_sign_of_life_and_lasts_while_the_caller_returns() -> None:
    world = call()
    world.now_ms = 10_000.0
    world.feed(ev.ConnectionLost(10_000.0, alive_ms=2000.0))
    assert world.timers[AWAY] == 62_000.0
    world.now_ms = 61_900.0
    world.feed(ev.CallerReturns(61_900.0))
    assert world.timers[AWAY] == 61_900.0 + RETURN_MS


def test_silence_does_not_count_while_nobody_is_there() -> None:
    world = call()
    world.synthesise_all()
    world.play_all()
    assert world.state.phase is Phase.IDLE
    lose(world)
    world.now_ms += 30_000.0
    world.feed(ev.TimerFired(world.now_ms, SILENCE))
    assert world.state.phase is Phase.IDLE
    come_back(world)
    assert world.timers[SILENCE] > world.now_ms


def test_a_caller_who_does_not_come_back_is_not_waited_for() -> None:
    world = call()
    lose(world)
    assert world.timers[AWAY] == world.now_ms + 60_000.0
    world.feed(ev.TimerFired(world.now_ms, AWAY))
    assert world.ended == "not_resumed"


def test_without_a_time_to_wait_the_call_is_lost_at_once() -> None:
    world = call(resume_timeout_ms=0.0)
    lose(world)
    assert world.ended == "lost"


@pytest.mark.parametrize("times", [1, 2])
def test_a_loss_that_is_told_twice_is_one(times: int) -> None:
    world = call()
    for _ in range(times):
        lose(world)
    assert sum(isinstance(action, act.PauseReply) for action in world.actions) == 1


def test_what_was_sent_to_nobody_was_not_heard() -> None:
    world = call()
    world.synthesise_all()
    world.frames(50)
    world.feed(ev.ConnectionLost(world.now_ms, ev.HeardUntil(1, 0, 200.0)))
    heard = [action.heard for action in world.actions if isinstance(action, act.ReplyHeard)]
    assert heard[-1] == "Hello"
    assert world.state.reply is not None
    assert world.state.reply.unheard.startswith("there,")


def test_a_reply_that_ended_unheard_is_corrected_and_its_rest_is_said() -> None:
    world = call()
    world.synthesise_all()
    world.play_all()
    assert world.state.phase is Phase.IDLE
    world.feed(ev.ConnectionLost(world.now_ms, ev.HeardUntil(1, 0, 400.0)))
    assert [message.content for message in world.state.memory.history] == ["Hello there,"]
    assert act.ReplyCorrected(1, "Hello there,", 400.0) in world.actions
    (found,) = resumed(come_back(world))
    assert found.cue == CUE
    world.play_all()
    assert [message.content for message in world.state.memory.history] == ["Hello there,", "how can I help you?"]
