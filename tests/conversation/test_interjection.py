"""What is said in place of whatever goes on: an announcement, and that a caller who asks for a person is transferred."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases, Rules
from voiceagent.conversation.state import Phase

WAIT = "One moment, I'll put you through."
FAILED = "Nobody is there."


def begun(**rules: Any) -> World:
    phrases = Phrases(transfer=WAIT, transfer_failed=FAILED)
    world = World(Rules(**{"language": "en", "phrases": phrases, "transfers": True, **rules}))
    world.begin()
    return world


def transfers_asked_for(world: World) -> int:
    return sum(isinstance(action, act.Transfer) for action in world.actions)


def test_a_caller_who_asks_for_a_person_is_told_so_and_transferred_without_the_language_model() -> None:
    world = begun()
    world.say("I want to speak to a human, please.")
    assert not world.generations
    assert not transfers_asked_for(world), "not before it was said"
    world.play_all()
    assert world.assistant_texts() == [WAIT]
    assert transfers_asked_for(world) == 1
    assert [message.content for message in world.state.memory.history] == ["I want to speak to a human, please.", WAIT]


def test_a_reply_that_was_begun_before_the_words_were_known_is_dropped() -> None:
    world = begun()
    world.speech()
    world.pause_with("Operator.")
    world.silence()
    world.endpoint()
    world.settle()
    world.play_all()
    assert world.assistant_texts() == [WAIT]
    assert transfers_asked_for(world) == 1


def test_where_nobody_can_be_transferred_to_the_language_model_answers() -> None:
    world = begun(transfers=False)
    world.say("Operator.")
    assert world.generations
    world.feed(ev.PersonRequested(world.now_ms))
    assert not transfers_asked_for(world)


def test_a_caller_whose_language_is_open_may_ask_in_any() -> None:
    world = begun(language="auto")
    world.say("Ich möchte mit einem Mitarbeiter sprechen.")
    assert not world.generations


@pytest.mark.parametrize("speaking", ["nobody", "caller", "agent", "decoding"])
def test_the_key_for_a_person_counts_whatever_goes_on(speaking: str) -> None:
    world = begun()
    if speaking == "caller":
        world.speech()
        world.partial("What is the")
    elif speaking == "decoding":
        world.speech()
        world.endpoint()
    elif speaking == "agent":
        world.say("Hello.")
        world.answer("Hi there, my friend.")
        world.synthesise_all()
        world.frames(10)
    world.feed(ev.PersonRequested(world.now_ms))
    world.settle()
    world.play_all()
    assert world.assistant_texts()[-1] == WAIT
    assert transfers_asked_for(world) == 1
    if speaking == "caller":
        assert act.DiscardUtterance(world.utterance) in world.actions, "the utterance that was open is not heard on"


def test_a_caller_who_speaks_into_the_sentence_is_transferred_all_the_same() -> None:
    world = begun()
    world.say("Operator.")
    world.synthesise_all()
    world.frames(20)
    world.say("My order number is four two seven.")
    world.settle()
    assert transfers_asked_for(world) == 1


def test_nobody_is_asked_whether_they_are_there_while_they_are_transferred_and_they_are_afterwards() -> None:
    world = begun(limits=Limits(silence_timeout_ms=5_000.0))
    world.say("Operator.")
    world.play_all()
    assert world.state.phase is Phase.IDLE
    assert "silence" not in world.timers
    world.feed(ev.TransferFailed(world.now_ms))
    world.play_all()
    assert world.assistant_texts()[-1] == FAILED
    assert "silence" in world.timers
    world.say("Then tell me the time.")
    world.answer("It is noon.")
    world.play_all()
    assert world.assistant_texts()[-1] == "It is noon."


def test_without_a_sentence_the_caller_is_transferred_at_once() -> None:
    world = begun(phrases=Phrases(transfer=""))
    world.say("Operator.")
    assert transfers_asked_for(world) == 1


def test_a_call_that_ends_meanwhile_is_not_transferred() -> None:
    world = begun()
    world.say("Operator.")
    world.synthesise_all()
    world.frames(5)
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    world.settle()
    assert not transfers_asked_for(world)


def test_an_announcement_is_said_in_place_of_the_reply_and_the_call_goes_on() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Hi there, my friend.")
    world.synthesise_all()
    world.frames(10)
    world.feed(ev.Announce(world.now_ms, "The recording is deleted."))
    world.settle()
    world.play_all()
    assert world.assistant_texts() == ["Hi", "The recording is deleted."]
    assert world.state.phase is Phase.IDLE
