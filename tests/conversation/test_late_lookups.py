"""Tools without effect whose reply the caller interrupts: each runs on and is told, unless it is not wanted any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Phrases, ToolRule
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.languages.en import ENGLISH

FOUND = '{"found": "Rossi"}'
TOLD = "I have found a table at Rossi."
TOOLS = {"find": ToolRule("none"), "book": ToolRule("external"), "pay": ToolRule("external", confirm="Shall I pay?")}


def looking_up(**rules: object) -> World:
    """The caller has heard a filler, and the lookup still runs."""
    world = begun(tools=TOOLS, phrases=Phrases(fillers=("One moment.",), apology="Sorry."), **rules)
    world.say("Find a table.")
    world.call_tool("find")
    world.generated()
    world.fire("filler")
    world.play_all()
    return world


def looking_up_ahead() -> World:
    """The lookup began in the pause before the turn was committed."""
    world = begun(tools=TOOLS, phrases=Phrases(fillers=("One moment.",)))
    world.speech()
    world.pause_with("Find a table.")
    world.silence()
    world.call_tool("find")
    world.generated()
    world.endpoint()
    world.fire("filler")
    world.play_all()
    assert world.speculative_calls
    assert not world.tools
    return world


def interrupted(world: World, words: str = "Okay, I will wait.") -> World:
    world.say(words)
    world.settle()
    return world


def answered(world: World, text: str = "Sure.") -> World:
    world.answer(text)
    world.play_all()
    return world


def cancelled(world: World) -> list[act.AnyAction]:
    return [action for action in world.actions if isinstance(action, act.CancelTool | act.CancelSpeculativeTool)]


def results_read(world: World) -> list[str]:
    """The results that the history tells the model."""
    return [message.content for message in world.state.memory.history if message.role == "tool"]


def nothing_more_is_told(world: World) -> bool:
    return world.state.phase is Phase.IDLE and not world.generations and not world.state.late.owed


@pytest.mark.parametrize("words", ["Okay, I will wait.", "Wait.", "Hold on a second.", "What is your name?"])
def test_the_result_of_an_interrupted_lookup_is_told_once_the_floor_is_free(words: str) -> None:
    world = interrupted(looking_up(), words)
    keeps = [action.keeps for action in world.actions if isinstance(action, act.CancelReply)]
    assert keeps == [(world.tools[0].call_id,)]
    assert ENGLISH.prompts.tool_running in [message.content for message in world.generations[-1].messages]
    answered(world)
    assert "silence" not in world.timers, "nobody is asked whether they are there"
    world.finish_tool(FOUND)
    assert world.generations[-1].messages[-1].content == FOUND
    answered(world, TOLD)
    assert world.assistant_texts()[-2:] == ["Sure.", TOLD]
    assert nothing_more_is_told(world)
    assert "silence" in world.timers
    assert [action.output for action in world.actions if isinstance(action, act.ToolEnded)] == [FOUND]


def test_a_later_okay_drops_no_lookup() -> None:
    world = answered(interrupted(looking_up()))
    world.say("Okay.")
    answered(world, "Yes.")
    world.finish_tool(FOUND)
    answered(world, TOLD)
    assert world.assistant_texts()[-2:] == ["Yes.", TOLD]


def test_a_lookup_that_began_before_the_end_of_the_turn_runs_on_too() -> None:
    world = answered(interrupted(looking_up_ahead()))
    assert not cancelled(world)
    world.look_up_done(FOUND)
    answered(world, TOLD)
    assert world.assistant_texts()[-2:] == ["Sure.", TOLD]
    assert nothing_more_is_told(world)


def test_a_lookup_that_ends_while_the_caller_speaks_is_told_after_the_answer() -> None:
    world = answered(interrupted(looking_up_ahead()))
    world.speech()
    world.look_up_done(FOUND)
    world.endpoint()
    world.final("What is your name?")
    answered(world, "Ann.")
    answered(world, TOLD)
    assert world.assistant_texts()[-2:] == ["Ann.", TOLD]


def test_two_lookups_and_a_tool_with_an_effect_of_one_reply_all_run_on() -> None:
    world = begun(tools=TOOLS)
    world.say("Find a table and book it.")
    world.call_tool("find", '{"where": "Rome"}')
    world.call_tool("find", '{"where": "Bari"}')
    world.call_tool("book")
    world.generated()
    answered(interrupted(world))
    for output in ("1", "2", "3"):
        world.finish_tool(output)
    assert world.generations[-1].messages[-1].content == "1"
    answered(world, TOLD)
    assert [message.content for message in world.generations[-1].messages[-2:]] == ["2", "3"]


# --- the caller asks for something else ---


@pytest.mark.parametrize("tool", ["find", "book", "pay"])
@pytest.mark.parametrize("begin", [looking_up, looking_up_ahead])
def test_a_running_lookup_is_dropped_once_the_next_reply_calls_a_tool(tool: str, begin: Callable[[], World]) -> None:
    world = interrupted(begin(), "What about Bari?")
    assert not cancelled(world)
    world.call_tool(tool, '{"where": "Bari"}')
    world.generated()
    assert len(cancelled(world)) == 1
    assert results_read(world) == [ENGLISH.prompts.tool_interrupted]
    assert not world.state.late.running


def test_the_same_request_runs_anew_and_is_told_once() -> None:
    world = interrupted(looking_up(), "Find a table.")
    world.call_tool("find")
    world.generated()
    assert len(world.tools) == 1
    world.finish_tool(FOUND)
    answered(world, TOLD)
    assert nothing_more_is_told(world)


def test_a_result_that_was_not_told_yet_is_dropped_by_a_newer_call_and_known_to_the_model() -> None:
    world = interrupted(looking_up(), "What about Bari?")
    world.finish_tool(FOUND)
    world.call_tool("find", '{"where": "Bari"}')
    world.generated()
    assert results_read(world) == [FOUND]
    world.finish_tool('{"found": "Mare"}')
    answered(world, "There is Mare.")
    assert nothing_more_is_told(world)


def test_a_result_that_comes_late_of_a_dropped_lookup_changes_nothing() -> None:
    world = looking_up()
    run = world.tools[0]
    interrupted(world, "What about Bari?").call_tool("book")
    assert not world.feed(ev.ToolFinished(world.now_ms, run.reply_id, run.call_id, FOUND, True))


def test_a_speculative_reply_drops_no_lookup() -> None:
    world = answered(interrupted(looking_up()))
    world.speech()
    world.pause_with("What about Bari?")
    world.silence()
    world.call_tool("find", '{"where": "Bari"}')
    assert world.speculative_calls
    assert not cancelled(world)
    world.resume()
    world.settle()
    assert world.state.late.running
    world.pause_with("What about Bari? No, tell me your name.")
    world.endpoint()
    answered(world, "Ann.")
    world.finish_tool(FOUND)
    answered(world, TOLD)
    assert world.assistant_texts()[-2:] == ["Ann.", TOLD]


def test_a_tool_with_an_effect_is_told_although_the_next_reply_calls_a_tool() -> None:
    world = begun(tools=TOOLS)
    world.say("Book a table.")
    world.call_tool("book")
    world.generated()
    interrupted(world, "And find a taxi.").call_tool("find")
    assert not cancelled(world)
    assert world.state.late.running


# --- the caller wants nothing any more ---


@pytest.mark.parametrize("words", ["Stop.", "Never mind.", "Forget it.", "Okay, never mind.", "Cancel."])
@pytest.mark.parametrize("begin", [looking_up, looking_up_ahead])
def test_a_lookup_is_dropped_when_the_caller_lets_the_matter_be(words: str, begin: Callable[[], World]) -> None:
    world = interrupted(begin(), words)
    assert len(cancelled(world)) == 1
    answered(world, "All right.")
    assert nothing_more_is_told(world)
    assert "silence" in world.timers


def test_a_lookup_is_dropped_when_the_caller_lets_it_be_later() -> None:
    world = answered(interrupted(looking_up()))
    world.say("Forget it.")
    assert len(cancelled(world)) == 1
    answered(world, "All right.")
    assert nothing_more_is_told(world)


# --- the reply ends otherwise ---


def test_a_lookup_ends_with_a_reply_that_the_client_cancels() -> None:
    world = looking_up()
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.settle()
    assert [action.keeps for action in world.actions if isinstance(action, act.CancelReply)] == [()]
    assert not world.state.late.running
    assert "silence" in world.timers


def test_a_lookup_ends_with_the_call() -> None:
    world = looking_up()
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    assert [action.keeps for action in world.actions if isinstance(action, act.CancelReply)] == [()]


def test_a_lookup_of_a_reply_that_failed_ends_with_it() -> None:
    world = begun(tools=TOOLS, phrases=Phrases(apology="Sorry, that did not work."))
    world.say("Find a table.")
    world.call_tool("find")
    world.fail()
    world.synthesise_all()
    world.frames(20)
    interrupted(world, "What is your name?")
    assert [action.keeps for action in world.actions if isinstance(action, act.CancelReply)] == [()]
    assert not world.state.late.running
