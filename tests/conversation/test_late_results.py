"""Results that come after their reply: each is told once, as soon as the floor is free."""

from __future__ import annotations

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.languages.en import ENGLISH

A1, B2 = '{"reference": "A1"}', '{"reference": "B2"}'
BOOKED = "Your table is booked, the reference is A1."


def waiting(stopped: str | None = None, **rules: object) -> World:
    """The caller interrupts the wait for a tool, and is answered."""
    phrases = Phrases(fillers=("One moment.",), check_in="Hello?", farewell="Bye.", stopped=stopped)
    world = begun(phrases=phrases, **rules)
    world.say("Book a table.")
    world.call_tool()
    world.generated()
    world.fire("filler")
    world.play_all()
    world.say("Okay, I will wait.")
    world.settle()
    return world


def answered(world: World) -> World:
    world.answer("All right.")
    world.play_all()
    return world


def tell(world: World, text: str = BOOKED) -> World:
    """The model tells the result that it reads last."""
    assert world.generations[-1].messages[-1].role == "tool"
    world.answer(text)
    world.play_all()
    return world


def prompted(world: World, result: str) -> int:
    """How many prompts end with this result."""
    prompts = [action.messages for action in world.actions if isinstance(action, act.Generate)]
    return sum(any(m.content == result for m in messages[-2:] if m.role == "tool") for messages in prompts)


def test_a_result_that_comes_while_nobody_speaks_is_told_at_once() -> None:
    world = answered(waiting())
    assert world.state.phase is Phase.IDLE
    world.finish_tool(A1)
    last = world.generations[-1].messages
    assert [(m.role, m.content) for m in last[-2:]] == [("assistant", ""), ("tool", A1)]
    assert last[-2].tool_calls[0].call_id == last[-1].tool_call_id
    tell(world)
    assert world.assistant_texts()[-1] == BOOKED
    assert world.beginnings()[-1].turn == 0, "no turn of the caller asked for it"
    assert world.state.phase is Phase.IDLE
    assert prompted(world, A1) == 1
    assert [action.output for action in world.actions if isinstance(action, act.ToolEnded)] == [A1]


def test_a_result_that_comes_while_the_agent_speaks_is_told_after_that() -> None:
    world = waiting()
    world.finish_tool(A1)
    world.answer("All right.")
    assert prompted(world, A1) == 0
    world.play_all()
    tell(world)
    assert world.assistant_texts()[-2:] == ["All right.", BOOKED]


def test_a_result_that_comes_before_the_cancelled_reply_has_settled_is_told() -> None:
    world = begun()
    world.say("Book a table.")
    world.call_tool()
    world.generated()
    world.say("And tell me the time.")
    world.finish_tool(A1)
    world.settle()
    assert ENGLISH.prompts.tool_running in [m.content for m in world.generations[-1].messages]
    tell(answered(world))
    assert prompted(world, A1) == 1


def test_a_result_that_comes_while_the_caller_speaks_is_told_after_the_answer() -> None:
    world = answered(waiting())
    world.speech()
    world.finish_tool(A1)
    assert not world.generations
    world.endpoint()
    world.final("What time is it?")
    assert world.generations[-1].messages[-1].content == "What time is it?"
    world.answer("It is noon.")
    world.play_all()
    tell(world)
    assert world.assistant_texts()[-2:] == ["It is noon.", BOOKED]


def test_a_result_that_comes_while_the_caller_coughs_is_told_then() -> None:
    world = answered(waiting())
    world.speech()
    world.finish_tool(A1)
    world.pause_with("")
    world.endpoint()
    tell(world)
    assert world.assistant_texts()[-1] == BOOKED


def test_a_result_that_comes_while_the_caller_takes_the_floor_from_its_own_reply_is_told() -> None:
    """The model has written what the result means, and the caller has heard nothing of it."""
    world = begun()
    world.say("Book a table.")
    world.call_tool()
    world.generated()
    world.speech()
    world.finish_tool(A1)
    world.answer(BOOKED)
    world.pause_with("Okay, I will wait.")
    world.endpoint()
    world.settle()
    assert A1 not in [m.content for m in world.generations[-1].messages]
    tell(answered(world))
    assert world.assistant_texts() == ["All right.", BOOKED]


def test_several_results_are_told_in_one_reply() -> None:
    world = answered(waiting())
    world.say("And one for Friday.")
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.say("What time is it?")
    world.settle()
    world.finish_tool(A1)
    world.finish_tool(B2)
    answered(world)
    assert [m.content for m in world.generations[-1].messages[-2:]] == [A1, B2]
    tell(world)
    assert not world.generations
    assert (prompted(world, A1), prompted(world, B2)) == (1, 1)


def test_a_failed_tool_is_told_too() -> None:
    world = answered(waiting())
    run = world.tools.pop()
    world.feed(ev.ToolFinished(world.now_ms, run.reply_id, run.call_id, '{"error": "full"}', False))
    tell(world, "I am sorry, it is full.")
    assert world.assistant_texts()[-1] == "I am sorry, it is full."


def test_two_calls_of_the_same_wait_for_one_result() -> None:
    world = begun()
    world.say("Book a table.")
    world.call_tool("book", '{"day": "Friday"}')
    world.call_tool("book", '{"day": " friday"}')
    world.generated()
    world.say("And tell me the time.")
    world.settle()
    world.finish_tool(A1)
    assert len([action for action in world.actions if isinstance(action, act.ToolEnded)]) == 2
    tell(answered(world))
    assert prompted(world, A1) == 1
    assert not world.generations


# --- the telling is cut off ---


def telling(heard_words: int, *, stopped: str | None = None) -> World:
    world = answered(waiting(stopped))
    world.finish_tool(A1)
    world.answer(BOOKED)
    world.synthesise_all()
    world.frames(heard_words * 10)
    return world


@pytest.mark.parametrize("heard", [0, 1, 3])
def test_a_telling_that_is_interrupted_early_is_told_again(heard: int) -> None:
    world = telling(heard)
    world.say("What time is it?")
    world.settle()
    assert A1 not in [m.content for m in world.generations[-1].messages]
    world.answer("It is noon.")
    world.play_all()
    tell(world)
    assert world.assistant_texts()[-1] == BOOKED
    assert not world.generations


def test_a_telling_of_which_most_was_heard_is_not_told_again() -> None:
    world = telling(6)
    world.say("What time is it?")
    world.settle()
    assert A1 in [m.content for m in world.generations[-1].messages]
    world.answer("It is noon.")
    world.play_all()
    assert world.state.phase is Phase.IDLE


def test_a_telling_that_the_caller_stops_is_known_to_the_model_and_not_told_again() -> None:
    world = telling(2)
    world.say("Stop.")
    world.settle()
    world.play_all()
    assert world.state.phase is Phase.IDLE
    assert not world.generations
    assert [m.content for m in world.state.memory.history[-3:]] == [A1, "Stop.", "Okay."]
    world.say("What was it?")
    assert A1 in [m.content for m in world.generations[-1].messages]
    answered(world)
    assert world.state.phase is Phase.IDLE


def test_the_model_that_answers_a_caller_who_stops_a_telling_knows_the_result() -> None:
    world = telling(2, stopped="")
    world.say("Stop.")
    world.settle()
    assert [m.content for m in world.generations[-1].messages[-2:]] == [A1, "Stop."]
    answered(world)
    assert world.state.phase is Phase.IDLE


def test_a_caller_who_coughs_over_the_telling_hears_it_to_its_end() -> None:
    world = telling(2)
    world.speech()
    world.pause_with("")
    world.fire("go_on")
    world.play_all()
    assert world.assistant_texts()[-1] == BOOKED
    assert not world.generations


def test_a_telling_that_fails_is_apologised_for_and_the_model_knows_the_result() -> None:
    world = answered(waiting())
    world.finish_tool(A1)
    world.fail()
    world.play_all()
    assert world.state.phase is Phase.IDLE
    assert A1 in [m.content for m in world.state.memory.history]


def test_a_telling_that_the_client_stops_is_not_told_again() -> None:
    world = telling(0)
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.settle()
    assert world.state.phase is Phase.IDLE
    assert not world.generations


def test_a_client_that_asks_for_a_reply_to_the_result_gets_the_one_that_tells_it() -> None:
    world = answered(waiting())
    world.finish_tool(A1)
    world.feed(ev.ReplyRequested(world.now_ms))
    tell(world)
    assert prompted(world, A1) == 1


def test_a_result_that_a_failed_reply_did_not_wait_for_is_told() -> None:
    world = begun(phrases=Phrases(apology="Sorry."))
    world.say("Book a table.")
    world.call_tool()
    world.fail()
    world.play_all()
    world.finish_tool(A1)
    tell(world)
    assert world.assistant_texts() == ["Sorry.", BOOKED]


def test_a_result_that_most_of_its_own_reply_told_is_not_told_again() -> None:
    world = begun()
    world.say("Book a table.")
    world.call_tool()
    world.generated()
    world.finish_tool(A1)
    world.answer(BOOKED)
    world.synthesise_all()
    world.frames(50)
    world.say("What time is it?")
    world.settle()
    answered(world)
    assert world.state.phase is Phase.IDLE


# --- silence ---


def test_nobody_is_asked_whether_they_are_there_while_a_tool_runs() -> None:
    world = answered(waiting())
    assert "silence" not in world.timers
    world.finish_tool(A1)
    tell(world)
    assert "silence" in world.timers


def test_the_silence_is_waited_for_again_once_the_client_stopped_the_reply_and_the_result_was_told() -> None:
    world = begun(limits=Limits(silence_timeout_ms=1000.0))
    world.say("Book a table.")
    world.call_tool()
    world.generated()
    world.feed(ev.ReplyCancelled(world.now_ms))
    assert "silence" not in world.timers
    world.settle()
    world.finish_tool(A1)
    tell(world)
    assert "silence" in world.timers
