"""A call that one server leaves, and another one takes up."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings

from tests.conversation.test_properties import Opening, come_to_rest, openings, run, scripts
from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.connection import AWAY
from voiceagent.conversation.handover import HANDED_OVER
from voiceagent.conversation.rules import Limits, Phrases, Rules, StepRule, ToolRule
from voiceagent.conversation.state import Phase, State, StepProgress
from voiceagent.turn_taking.languages import language

CUE = "We were cut off."
PROMPTS = language("en").prompts
RULES = Rules(
    language="en",
    phrases=Phrases(greeting="Good morning.", resumed=CUE),
    limits=Limits(resume_timeout_ms=60_000.0),
    tools={"book": ToolRule("external"), "look": ToolRule("none")},
)


def left(world: World) -> State:
    """The state in which the server leaves the call, as it comes out of the store."""
    world.feed(ev.HandedOver(world.now_ms))
    while world.drops:
        world.settle()
    assert world.ended == HANDED_OVER
    return msgspec.json.decode(msgspec.json.encode(world.state, enc_hook=float), type=State)


def at_the_other_server(state: State) -> World:
    world = World(RULES)
    world.state = machine.start(RULES, state)
    world.begin()
    world.feed(ev.ConnectionResumed(world.now_ms))
    return world


def talking() -> World:
    world = World(RULES)
    world.begin()
    world.play_all()
    return world


def said(world: World) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in world.state.memory.history]


def test_the_rest_of_a_reply_is_said_after_a_cue_and_nobody_is_greeted_again() -> None:
    world = talking()
    world.say("Tell me more.")
    world.answer("One two three four five six.")
    world.synthesise_all()
    world.frames(25)
    other = at_the_other_server(left(world))
    assert [action.cue for action in other.actions if isinstance(action, act.ResumeReply)] == [CUE]
    other.play_all()
    heard = [text for role, text in said(other) if role == "assistant"]
    assert " ".join(heard) == "Good morning. One two three four five six."
    assert heard.count("Good morning.") == 1


def test_words_that_were_not_answered_are_answered_there() -> None:
    world = talking()
    world.say("Tell me more.")
    other = at_the_other_server(left(world))
    assert other.generations
    assert other.generations[-1].messages[-1].content == "Tell me more."


def test_what_came_of_a_tool_with_an_effect_is_not_known_and_it_is_not_run_again() -> None:
    world = talking()
    world.say("Book it.")
    world.call_tool("book")
    world.generated()
    other = at_the_other_server(left(world))
    assert not other.tools
    assert other.generations[-1].messages[-1].content == PROMPTS.tool_outcome_unknown


def test_a_call_whose_caller_does_not_come_ends() -> None:
    world = World(RULES)
    world.state = machine.start(RULES, left(talking()))
    world.begin()
    assert world.state.phase is Phase.IDLE
    world.feed(ev.TimerFired(world.now_ms, AWAY))
    assert world.ended == "not_resumed"


def test_the_step_and_what_tools_keep_go_along() -> None:
    rules = msgspec.structs.replace(RULES, steps={"first": StepRule("One."), "last": StepRule("Two.")})
    world = World(rules)
    world.begin()
    world.play_all()
    world.feed(ev.CallStateKept(world.now_ms, '{"party": 4}'))
    flow = StepProgress("last", {"name": "Ada"}, "")
    state = machine.start(rules, msgspec.structs.replace(left(world), flow=flow))
    state, actions = machine.step(state, ev.CallStarted(0.0))
    assert (state.flow.step, state.flow.values, state.kept) == ("last", {"name": "Ada"}, '{"party": 4}')
    assert act.StepChanged("last") in actions


@given(openings, scripts)
@settings(max_examples=200, deadline=None)
def test_a_call_that_is_left_at_any_moment_goes_on(opening: Opening, script: list[tuple[str, str]]) -> None:
    first = run(opening, script)
    if first.state.phase is Phase.ENDED:
        return
    state = left(first)
    other = World(first.state.rules)
    other.state = machine.start(first.state.rules, state)
    other.begin()
    spoken = " ".join([*first.user_texts(), state.caller_turn.unanswered]).split()
    assert other.state.reply is None or other.state.connection.lost_ms is not None
    other.feed(ev.ConnectionResumed(other.now_ms))
    assert " ".join([*other.user_texts(), other.state.caller_turn.unanswered]).split() == spoken
    come_to_rest(other)
    assert other.state.phase in (Phase.IDLE, Phase.ENDED)
    tools = [(run.name, run.arguments) for run in first.tools]
    assert not [run for run in other.tools if (run.name, run.arguments) in tools]


def test_each_part_of_the_state_goes_along_or_begins_anew() -> None:
    go = {"spoken", "memory", "caller_turn", "habit", "replies", "tools", "late", "flow", "collecting", "kept"}
    begin = {"rules", "phase", "utterance", "reply", "speculation", "silence", "connection", "timers", "degraded"}
    assert go | begin == {field.name for field in msgspec.structs.fields(State)}


def test_a_second_server_leaves_it_in_its_turn() -> None:
    world = talking()
    world.say("One.")
    world.answer("Yes.")
    world.play_all()
    other = at_the_other_server(left(at_the_other_server(left(world))))
    assert said(other)[1:] == [("user", "One."), ("assistant", "Yes.")]
