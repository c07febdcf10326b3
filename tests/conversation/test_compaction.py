"""Long conversations in the turn engine: what is left out or summarised, and when."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import MemoryRules, Rules
from voiceagent.turn_taking.languages.en import ENGLISH

SHORT, SUMMED_UP = MemoryRules(long_history_tokens=80), MemoryRules(long_history_tokens=80, summarise=True)


def talked(turns: int, memory: MemoryRules = SHORT) -> World:
    """A call of so many turns of about 20 tokens each."""
    world = World(Rules(language="en", instructions="Be brief.", memory=memory))
    world.begin()
    for number in range(turns):
        turn(world, number)
    return world


def turn(world: World, number: int) -> None:
    world.say(f"This is what I say in turn number {number}.")
    world.answer(f"And this is what I answer in turn number {number}.")
    world.play_all()


def test_the_older_half_is_left_out_between_turns_and_the_rest_read_ahead() -> None:
    world = talked(4)
    assert len(world.user_texts()) == 4
    before = len(world.actions)
    turn(world, 4)
    assert world.user_texts() == [f"This is what I say in turn number {number}." for number in (3, 4)]
    (prefill,) = [action for action in world.actions[before:] if isinstance(action, act.Prefill)]
    assert [message.role for message in prefill.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_a_summary_takes_the_place_of_what_it_sums_up_between_turns_only() -> None:
    world = talked(5, SUMMED_UP)
    (asked,) = [action for action in world.actions if isinstance(action, act.Summarise)]
    assert len(world.user_texts()) == 5, "nothing is lost while it is made"
    world.speech()
    world.feed(ev.Summarised(world.now_ms, "They counted turns."))
    assert len(world.user_texts()) == 5, "the caller has the floor"
    world.endpoint()
    world.final("This is what I say in turn number 5.")
    world.answer("Yes.")
    world.play_all()
    *told, wanted = asked.messages
    assert wanted.content == ENGLISH.prompts.sum_up
    summed_up = [message.content for message in told if message.role == "user"]
    assert summed_up + world.user_texts() == [f"This is what I say in turn number {number}." for number in range(6)]
    world.say("And?")
    assert world.generations[-1].messages[0].content == "Be brief.\n\nWhat was said before: They counted turns."


def test_a_summary_that_comes_while_nobody_speaks_is_put_in_at_once() -> None:
    world = talked(5, SUMMED_UP)
    actions = world.feed(ev.Summarised(world.now_ms, "They counted turns."))
    assert [type(action) for action in actions] == [act.Prefill]
    assert len(world.user_texts()) == 2


def interrupted_turns(count: int) -> Iterator[World]:
    """A call whose caller interrupts every reply; given out each time before the interrupted reply has settled."""
    world = World(Rules(language="en", instructions="Be brief.", memory=SHORT))
    world.begin()
    world.speech()
    for number in range(count):
        world.endpoint()
        world.final(f"This is what I say in turn number {number}.")
        world.answer(f"And this is what I answer in turn number {number}.")
        world.synthesise_all()
        world.frames(40)
        world.speech()
        world.partial("Wait, I mean")
        yield world


def test_a_caller_who_interrupts_every_reply_still_has_a_history_that_is_shortened() -> None:
    for world in interrupted_turns(8):
        world.settle()
    assert 1 <= len(world.user_texts()) <= 4


def test_what_is_left_while_the_caller_speaks_is_read_ahead_once() -> None:
    for world in interrupted_turns(8):
        before, known = len(world.actions), len(world.user_texts())
        world.settle()
        read = [action.messages for action in world.actions[before:] if isinstance(action, act.Prefill)]
        shorter = len(world.user_texts()) < known
        assert read == ([(Message("system", "Be brief."), *world.state.memory.history)] if shorter else [])
    assert world.state.memory.turns > len(world.user_texts())


def test_a_single_turn_that_is_longer_than_the_limit_stays_alone() -> None:
    world = talked(2)
    world.say("This is a very long question. " * 20)
    world.answer("Yes.")
    world.play_all()
    assert len(world.user_texts()) == 1


def test_without_a_limit_nothing_is_left_out() -> None:
    world = World(Rules(language="en", memory=MemoryRules(long_history_tokens=0)))
    world.begin()
    for number in range(20):
        turn(world, number)
    assert len(world.user_texts()) == 20


@pytest.mark.parametrize("memory", [SHORT, SUMMED_UP], ids=["left out", "summed up"])
def test_the_result_of_a_tool_is_told_though_its_call_left_the_history(memory: MemoryRules) -> None:
    world = World(Rules(language="en", memory=memory))
    world.begin()
    world.say("Book a table for four on Friday.")
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.say("And tell me what you can do.")
    world.settle()
    world.answer("I can book tables.")
    world.play_all()
    for number in range(5):
        turn(world, number)
        world.feed(ev.Summarised(world.now_ms, "They wanted a table."))
    assert len(world.user_texts()) < 6, "nothing waits for its result"
    world.finish_tool('{"booked": true}')
    assert world.generations[-1].messages[-1].content == '{"booked": true}'
    assert [action.output for action in world.actions if isinstance(action, act.ToolEnded)] == ['{"booked": true}']
    world.answer("It is booked.")
    world.play_all()
    assert world.assistant_texts()[-1] == "It is booked."
