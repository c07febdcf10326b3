"""The tools of a reply in virtual time: run once, ahead where that leaves nothing behind, bridged, confirmed, told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import EndpointingRules, Limits, Phrases, SpeculationRules, ToolRule
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.languages.en import ENGLISH


def test_a_tool_result_goes_back_to_the_model() -> None:
    world = begun()
    world.say("Weather in Paris?")
    world.feed(ev.ToolCallRequested(world.now_ms, 1, "c1", "get_weather", '{"city": "Paris"}'))
    world.generated()
    assert world.tools[0].name == "get_weather"
    world.finish_tool('{"weather": "sunny"}')
    prompt = [(m.role, m.content) for m in world.generations[-1].messages]
    assert prompt == [("user", "Weather in Paris?"), ("assistant", ""), ("tool", '{"weather": "sunny"}')]
    world.answer("It is sunny.")
    world.play_all()
    assert [m.role for m in world.state.memory.history] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    "argument", ['"' + "9" * 5000 + '"', "[" * 600 + "]" * 600, "9" * 5000], ids=["digits", "deep", "number"]
)
def test_arguments_that_python_cannot_compare_are_those_of_a_tool_all_the_same(argument: str) -> None:
    world = begun(tools={"find": ToolRule("none", (), "Shall I look for {order}?"), "ask": ToolRule("none")})
    world.say("Where is my order?")
    for number, name in enumerate(("ask", "find", "ask")):
        world.feed(ev.ToolCallRequested(world.now_ms, 1, f"c{number}", name, f'{{"order": {argument}}}'))
    assert [tool.name for tool in world.tools] == ["ask"]


FIND = {"find": ToolRule("none")}


def test_a_speculative_reply_looks_up_what_leaves_nothing_behind_and_speaks_with_the_commit() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.pause_with("Where is order 48271?")
    world.silence()
    world.call_tool("find", '{"order": "48271"}')
    world.generated()
    world.now_ms += 30
    world.look_up_done()
    world.text("It is on its way. ")
    world.synthesise()
    assert not [
        action for action in world.actions if isinstance(action, act.Notice) and not isinstance(action, act.CallerStarted)
    ]
    world.endpoint()
    told = [
        type(action).__name__ for action in world.actions if isinstance(action, (act.ToolStarted, act.ToolEnded, act.ReplyText))
    ]
    assert told == ["ToolStarted", "ToolEnded", "ReplyText"]
    assert not world.tools
    world.generated()
    world.play_all()
    assert [m.role for m in world.state.memory.history] == ["user", "assistant", "tool", "assistant"]
    assert speculative_tool_finished(world) == [(True, 30.0)]


def in_a_pause(words: str = "Look for the red car on Friday.") -> World:
    world = begun(tools=FIND, endpointing=EndpointingRules(EndpointModel()))
    world.speech()
    world.pause_with(words)
    world.silence()
    return world


def test_a_request_for_which_the_speculative_reply_calls_a_tool_ends_sooner() -> None:
    world = in_a_pause()
    before_ms = world.endpoint_ms()
    world.call_tool("find", '{"what": "red car"}')
    assert world.endpoint_ms() < before_ms


def test_a_speculative_reply_that_only_speaks_leaves_the_endpoint_where_it_was() -> None:
    world = in_a_pause()
    before_ms = world.endpoint_ms()
    world.text("For which Friday? ")
    world.generated()
    assert world.endpoint_ms() == before_ms


def test_a_call_for_words_that_went_on_says_nothing_of_the_next_pause() -> None:
    words = "Look for the red car on Friday in town."
    world = in_a_pause()
    world.call_tool("find", '{"what": "red car"}')
    world.resume()
    world.settle()
    world.pause_with(words)
    assert world.endpoint_ms() == in_a_pause(words).endpoint_ms()


def test_what_was_looked_up_for_a_cancelled_speculative_reply_serves_the_next() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.pause_with("Where is order 48271?")
    world.silence()
    world.call_tool("find", '{"order": "48271"}')
    world.resume()
    world.settle()
    world.look_up_done()
    world.pause_with("Where is order 48271, please?")
    world.silence()
    world.call_tool("find", '{"order": 48271}')
    world.generated()
    assert len([action for action in world.actions if isinstance(action, act.RunSpeculativeTool)]) == 1
    assert world.generations
    world.endpoint()
    assert speculative_tool_finished(world) == [(True, 0.0)]


def test_a_lookup_that_still_runs_at_the_commit_is_waited_for() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.partial("Where is order 48271 by")
    world.predict("find", '{"order": "48271"}')
    world.now_ms += 400
    world.endpoint()
    world.final("Where is order 48271?")
    world.call_tool("find", '{"order": "48271"}')
    world.generated()
    assert not world.tools
    assert not world.generations
    world.look_up_done()
    assert world.generations
    assert speculative_tool_finished(world) == [(True, 400.0)]


def test_while_a_slow_tool_may_be_wanted_the_model_is_asked_which() -> None:
    world = begun(tools={"find": ToolRule("none", typical_ms=800.0)})
    world.speech()
    world.partial("Where is")
    world.partial("Where is order 48271")
    prefills = [action for action in world.actions if isinstance(action, act.Prefill)]
    assert [(action.messages[-1].content, action.predict_for) for action in prefills] == [
        ("Where is", None),
        ("Where is order 48271", world.utterance),
    ]


def test_an_argument_that_may_go_on_is_not_looked_up_yet() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.partial("Where is order 482")
    world.predict("find", '{"order": "482"}')
    world.partial("Where is order 4827")
    world.predict("find", '{"order": "482"}')
    assert not world.speculative_calls
    world.partial("Where is order 48271 please")
    world.predict("find", '{"order": "48271"}')
    assert [run.arguments for run in world.speculative_calls] == ['{"order": "48271"}']


def test_a_prediction_that_nobody_asks_for_is_cancelled() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.predict("find", '{"order": "1"}')
    world.predict("find", '{"order": "1"}')
    world.predict("book")
    assert len(world.speculative_calls) == 1
    world.endpoint()
    world.final("Hello.")
    world.answer("Hello.")
    world.play_all()
    assert not world.speculative_calls
    assert speculative_tool_finished(world) == [(False, 0.0)]


def test_a_turn_has_a_budget_of_lookups() -> None:
    world = begun(tools=FIND, speculation=SpeculationRules(max_tool_calls=3))
    world.speech()
    world.partial("Order 0 or 1 or 2 or 3 or so")
    for number in range(4):
        world.predict("find", f'{{"order": {number}}}')
    assert len(world.speculative_calls) == 2
    world.pause_with("Order 4")
    world.silence()
    world.call_tool("find", '{"order": "4"}')
    assert len(world.speculative_calls) == 3


def test_what_the_model_made_up_is_looked_up_only_when_it_says_so_twice() -> None:
    world = begun(tools=FIND)
    world.speech()
    world.partial("Where is my")
    world.predict("find", '{"order": "70414"}')
    world.predict("find", '{"order": "48271"}')
    assert not world.speculative_calls
    world.predict("find", '{"order": "48271"}')
    assert len(world.speculative_calls) == 1


def test_an_argument_that_was_said_in_the_turn_before_counts_as_said() -> None:
    world = begun(tools=FIND)
    world.say("Is it sunny in Rome?")
    world.answer("Yes.")
    world.play_all()
    world.speech()
    world.partial("And tomorrow")
    world.predict("find", '{"city": "Rome", "day": "tomorrow"}')
    assert len(world.speculative_calls) == 1


def test_a_reply_that_asks_twice_for_the_same_has_it_once() -> None:
    world = begun()
    world.say("Book it.")
    world.call_tool("book", '{"day": "Friday"}')
    world.call_tool("book", '{"day": " friday"}')
    world.generated()
    assert len(world.tools) == 1
    world.finish_tool()
    assert world.generations
    assert len([action for action in world.actions if isinstance(action, act.ToolEnded)]) == 2


def told(world: World) -> list[str]:
    return [type(action).__name__ for action in world.actions if isinstance(action, act.Notice)]


# --- waiting for tools ---


def waiting(**rules: Any) -> World:
    world = begun(phrases=Phrases(fillers=("Let me check that.", "One moment.")), **rules)
    world.say("Where is order 48271?")
    world.call_tool("book")
    world.generated()
    return world


def spoken(world: World) -> list[str]:
    return [action.text for action in world.actions if isinstance(action, act.Speak)]


def test_a_slow_tool_is_bridged_once_with_lines_that_vary() -> None:
    world = waiting()
    world.fire("filler")
    assert spoken(world) == ["Let me check that."]
    world.play_all()
    assert "filler" not in world.timers
    world.finish_tool()
    world.answer("It is on its way.")
    world.play_all()
    assert world.assistant_texts() == ["Let me check that.", "It is on its way."]
    world.say("And order 5?")
    world.call_tool("book", '{"order": 5}')
    world.fire("filler")
    assert spoken(world)[-1] == "One moment."


def test_a_tool_that_is_known_to_be_slow_is_bridged_so_long_after_the_callers_words() -> None:
    world = begun(
        phrases=Phrases(fillers=("One moment.",)),
        tools={"book": ToolRule(typical_ms=3000.0), "find": ToolRule("none", typical_ms=800.0)},
    )
    world.now_ms = 5000.0
    world.say("Book it.")  # which ended 500 ms before its endpoint
    world.call_tool("book")
    assert world.timers["filler"] == 5001.0


def test_a_tool_that_ran_ahead_and_is_nearly_done_is_given_its_time() -> None:
    world = begun(phrases=Phrases(fillers=("One moment.",)), tools={"find": ToolRule("none", typical_ms=800.0)})
    world.speech()
    world.partial("Find it please")
    world.predict("find")
    world.now_ms += 600.0
    world.endpoint()
    world.final("Find it please.")
    world.call_tool("find")
    assert world.timers["filler"] == world.now_ms + 400.0


def test_a_tool_may_have_its_own_filler() -> None:
    world = waiting(tools={"book": ToolRule("external", ("I am asking the kitchen.",))})
    world.fire("filler")
    assert spoken(world) == ["I am asking the kitchen."]


def test_a_quick_tool_is_not_bridged() -> None:
    world = waiting()
    world.finish_tool()
    world.answer("It is on its way.")
    world.fire("filler")
    world.play_all()
    assert world.assistant_texts()[-1] == "It is on its way."
    assert "Let me check that." not in spoken(world)


def test_a_filler_ends_with_the_word_that_is_being_said_when_the_answer_is_there() -> None:
    world = waiting()
    world.fire("filler")
    world.synthesise()
    world.frames(12)
    world.finish_tool()
    world.answer("It is on its way.")
    world.play_all()
    assert world.assistant_texts() == ["Let me", "It is on its way."]
    heard = [action.heard for action in world.actions if isinstance(action, act.ReplyHeard)]
    assert heard[-1] == "Let me It is on its way."
    assert world.endings()[-1].unheard == ""


def test_a_filler_that_nobody_has_heard_yet_is_left_out() -> None:
    world = waiting()
    world.fire("filler")
    world.finish_tool()
    world.answer("It is on its way.")
    world.play_all()
    assert world.assistant_texts()[-1] == "It is on its way."
    assert world.endings()[-1].heard == "It is on its way."


CONFIRM = {"book": ToolRule("external", (), "Shall I book it for {people} on {day}?")}
FRIDAY = '{"people": 4, "day": "Friday"}'


def asked_to_confirm(heard: bool = True) -> World:
    world = begun(tools=CONFIRM)
    world.say("Book a table for four on Friday.")
    world.call_tool("book", FRIDAY)
    world.generated()
    if heard:
        world.play_all()
    return world


def test_what_must_be_confirmed_is_asked_for_by_the_engine_and_runs_on_a_yes() -> None:
    world = asked_to_confirm()
    assert not world.tools
    assert world.assistant_texts() == ["Shall I book it for 4 on Friday?"]
    world.say("Yes, please.")
    assert [(run.name, run.arguments) for run in world.tools] == [("book", FRIDAY)]
    world.finish_tool()
    world.answer("It is booked.")
    world.play_all()
    assert [m.role for m in world.state.memory.history] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


@pytest.mark.parametrize("words", ["No.", "Yes, but for five.", "What time is it?", "Never mind."])
def test_anything_but_a_plain_yes_runs_nothing(words: str) -> None:
    world = asked_to_confirm()
    world.say(words)
    assert not world.tools
    world.answer("All right.")
    world.play_all()
    world.say("Yes.")
    assert not world.tools


def test_a_yes_to_a_question_that_was_not_heard_runs_nothing() -> None:
    world = asked_to_confirm(heard=False)
    world.say("Wait. Yes.")
    world.settle()
    world.say("Yes.")
    assert not world.tools


@pytest.mark.parametrize("words", ["Yes, please.", "Yes, that's right.", "Sure, why not."])
def test_a_yes_on_the_last_word_of_the_question_runs_it(words: str) -> None:
    world = asked_to_confirm(heard=False)
    world.synthesise_all()
    world.frames(65)
    assert world.state.reply is not None
    assert world.state.reply.heard == "Shall I book it for 4"
    world.speech()
    world.pause_with(words)
    world.endpoint()
    world.settle()
    assert [(run.name, run.arguments) for run in world.tools] == [("book", FRIDAY)]


def speculative_tool_finished(world: World) -> list[tuple[bool, float]]:
    return [(action.used, action.saved_ms) for action in world.actions if isinstance(action, act.SpeculativeToolEnded)]


def test_a_tool_that_was_interrupted_is_told_as_interrupted() -> None:
    world = begun(tools=FIND)
    world.say("Weather in Paris?")
    world.text("Let me look.")
    world.call_tool("find")
    world.generated()
    world.play_all()
    world.say("Never mind.")
    world.settle()
    assert [m.role for m in world.state.memory.history] == ["user", "assistant", "tool", "user"]
    assert "interrupted" in world.state.memory.history[2].content


def test_a_reply_may_not_call_tools_for_ever() -> None:
    world = begun(limits=Limits(max_tool_rounds=2), phrases=Phrases(apology="Sorry."))
    world.say("Loop.")
    for _ in range(3):
        world.call_tool()
        world.generated()
        world.finish_tool()
    assert not world.generations
    world.play_all()
    assert world.endings()[-1].status == "failed"
    assert world.assistant_texts() == ["Sorry."]


def test_a_tool_without_a_line_of_its_own_does_not_keep_another_from_being_bridged() -> None:
    world = begun(tools={"find": ToolRule("none"), "book": ToolRule("external", ("I am asking the kitchen.",))})
    world.say("Where is order 5, and book a table.")
    world.call_tool("find")
    world.call_tool("book")
    world.generated()
    world.fire("filler")
    assert spoken(world) == ["I am asking the kitchen."]


BOTH = {"find": ToolRule("none"), "book": ToolRule("external")}


def waiting_for_one_of_two(**rules: Any) -> World:
    """Two tools run at the same time; the first has ended, and the wait for the second is long enough to be heard."""
    world = begun(tools=BOTH, phrases=Phrases(fillers=("Let me see.",)), **rules)
    world.say("Find one and book it.")
    world.call_tool("find", '{"what": "one"}')
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.finish_tool('{"found": "one"}')
    world.fire("filler")
    return world


def test_a_reply_begins_with_what_is_known_and_goes_on_when_the_rest_is_there() -> None:
    world = waiting_for_one_of_two()
    prompt = [(m.role, m.content, [call.name for call in m.tool_calls]) for m in world.generations[-1].messages[1:]]
    assert prompt == [
        ("assistant", "", ["find"]),
        ("tool", '{"found": "one"}', []),
        ("assistant", "", ["book"]),
        ("tool", ENGLISH.prompts.tool_pending, []),
    ]
    world.answer("I have found one.")
    world.play_all()
    assert world.assistant_texts() == []
    assert not world.generations
    world.finish_tool('{"booked": true}')
    prompt = [(m.role, m.content, [call.name for call in m.tool_calls]) for m in world.generations[-1].messages[1:]]
    assert prompt[2:] == [("assistant", "I have found one.", ["book"]), ("tool", '{"booked": true}', [])]
    world.answer("And it is booked.")
    world.play_all()
    assert world.assistant_texts() == ["I have found one.", "And it is booked."]
    assert "Let me see." not in [action.text for action in world.actions if isinstance(action, act.Speak)]
    assert len([action for action in world.actions if isinstance(action, act.RunTool)]) == 2


def test_a_result_that_comes_while_the_reply_begins_waits_for_its_words() -> None:
    world = waiting_for_one_of_two()
    world.text("I have found one. ")
    world.finish_tool('{"booked": true}')
    assert len(world.generations) == 1
    world.generated()
    assert [m.content for m in world.generations[-1].messages[-2:]] == ["I have found one.", '{"booked": true}']


def test_a_beginning_of_no_words_leaves_room_for_a_filler() -> None:
    world = waiting_for_one_of_two()
    world.generated()
    assert [speak.text for speak in world.to_speak] == ["Let me see."]


def test_a_first_result_that_comes_after_the_filler_is_told_too() -> None:
    world = begun(tools=BOTH, phrases=Phrases(fillers=("Let me see.",)))
    world.say("Find one and book it.")
    world.call_tool("find", '{"what": "one"}')
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.fire("filler")
    world.play_all()
    world.finish_tool('{"found": "one"}')
    world.answer("I have found one.")
    assert [speak.text for speak in world.to_speak] == ["I have found one."]
    assert not world.timers.keys() & {"filler"}


def test_an_interrupted_beginning_leaves_a_tool_with_effects_running() -> None:
    world = waiting_for_one_of_two()
    world.answer("I have found one.")
    world.synthesise_all()
    world.frames(3 * 10)
    world.say("No, wait.")
    world.settle()
    told = [(m.role, m.content) for m in world.state.memory.history[1:5]]
    assert told == [
        ("assistant", ""),
        ("tool", '{"found": "one"}'),
        ("assistant", "I have found"),
        ("tool", ENGLISH.prompts.tool_running),
    ]


def test_a_wait_that_nothing_can_be_said_for_is_silent() -> None:
    world = begun(tools={"find": ToolRule("none"), "book": ToolRule("external", ("I am asking the kitchen.",))})
    world.say("Where is order 5, and book a table.")
    world.call_tool("find")
    world.call_tool("book")
    world.generated()
    world.tools.reverse()
    world.finish_tool()
    world.fire("filler")
    assert spoken(world) == []


@pytest.mark.parametrize("arguments", ["{", "[]", "null", "[" * 50_000])
def test_arguments_that_cannot_be_read_run_nothing_unasked(arguments: str) -> None:
    world = begun(tools=CONFIRM)
    world.say("Book a table.")
    world.call_tool("book", arguments)
    world.generated()
    world.play_all()
    assert not world.tools
    assert world.assistant_texts() == ["Shall I book it for on ?"]
