"""An agent that is a graph: the step of a call, the values it knows, and what the model reads of them."""

from __future__ import annotations

import json
from itertools import pairwise

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules, StepRule, ToolRule, TransitionRule
from voiceagent.conversation.steps import GO_TO, NOTE

STEPS = {
    "reason": StepRule(
        "Ask why they call.",
        ("reason",),
        (TransitionRule("slot", {"reason": "appointment"}), TransitionRule("desk")),
    ),
    "slot": StepRule(
        "Find a time.",
        ("day", "name"),
        (TransitionRule("done", after="book", result={"booked": True}), TransitionRule("desk", after="book")),
    ),
    "desk": StepRule("Say that somebody will call back."),
    "done": StepRule("Say goodbye."),
}
TOOLS = {NOTE: ToolRule("idempotent"), GO_TO: ToolRule("idempotent"), "book": ToolRule("external")}


def begun() -> World:
    world = World(Rules(language="en", instructions="You are a clinic.", steps=STEPS, tools=TOOLS))
    world.begin()
    return world


def tool(world: World, name: str, output: object, ok: bool = True) -> None:
    """The model calls a tool, which ends with this."""
    world.call_tool(name, json.dumps(output))
    world.generated()
    run = world.tools.pop(0)
    world.feed(ev.ToolFinished(world.now_ms, run.reply_id, run.call_id, json.dumps(output), ok))


def entered(world: World) -> list[str]:
    return [action.step for action in world.actions if isinstance(action, act.StepChanged)]


def instructions(world: World) -> str:
    return world.generations[-1].messages[0].content


def test_a_call_begins_in_the_first_step_whose_instructions_the_model_reads() -> None:
    world = begun()
    assert entered(world) == ["reason"]
    world.say("Hello.")
    assert instructions(world) == "You are a clinic.\n\nAsk why they call."


def test_a_value_leads_to_the_step_that_follows() -> None:
    world = begun()
    world.say("I need an appointment.")
    tool(world, NOTE, {"noted": {"reason": "appointment"}})
    assert entered(world) == ["reason", "slot"]
    assert instructions(world) == 'You are a clinic.\n\nFind a time.\n\nKnown so far: {"reason": "appointment"}'


def test_the_first_way_whose_conditions_hold_is_taken() -> None:
    world = begun()
    world.say("A prescription.")
    tool(world, NOTE, {"noted": {"reason": "prescription"}})
    assert entered(world) == ["reason", "desk"]


def test_a_step_lasts_until_all_its_values_are_known() -> None:
    world = begun()
    world.say("I am not sure.")
    tool(world, NOTE, {"noted": {}})
    assert entered(world) == ["reason"]
    before = instructions(world)
    world.answer("Why do you call?")
    world.play_all()
    world.say("An appointment.")
    assert instructions(world) == before  # the prompt begins alike while the step lasts


def test_a_tools_result_leads_on_and_a_failed_tool_does_not() -> None:
    for output, ok, last in (
        ({"booked": True}, True, "done"),
        ({"booked": False}, True, "desk"),
        ({"error": "down"}, False, "slot"),
    ):
        world = begun()
        world.say("I need an appointment.")
        tool(world, NOTE, {"noted": {"reason": "appointment"}})
        tool(world, "book", output, ok)
        assert entered(world)[-1] == last


def test_values_of_a_step_alone_do_not_take_a_way_that_waits_for_a_tool() -> None:
    world = begun()
    world.say("I need an appointment.")
    tool(world, NOTE, {"noted": {"reason": "appointment"}})
    tool(world, NOTE, {"noted": {"day": "Friday", "name": "Ann"}})
    assert entered(world)[-1] == "slot"
    assert world.state.flow.values == {"reason": "appointment", "day": "Friday", "name": "Ann"}


def test_the_caller_goes_elsewhere_and_starting_over_forgets_the_values() -> None:
    world = begun()
    world.say("I need an appointment.")
    tool(world, NOTE, {"noted": {"reason": "appointment"}})
    tool(world, GO_TO, {"step": "desk"})
    assert (world.state.flow.step, world.state.flow.values) == ("desk", {"reason": "appointment"})
    tool(world, GO_TO, {"step": "reason"})
    assert (world.state.flow.step, world.state.flow.values) == ("reason", {})
    tool(world, GO_TO, {"step": "nowhere"})
    assert world.state.flow.step == "reason"


def test_a_speculative_reply_changes_no_step_before_its_turn_is_committed() -> None:
    world = begun()
    world.speech()
    world.pause_with("I need an appointment.")
    world.silence()
    world.call_tool(NOTE)
    world.generated()
    assert not world.tools
    assert entered(world) == ["reason"]
    world.endpoint()
    run = world.tools.pop(0)
    world.feed(ev.ToolFinished(world.now_ms, run.reply_id, run.call_id, '{"noted": {"reason": "appointment"}}', True))
    assert entered(world) == ["reason", "slot"]


def test_an_agent_without_steps_has_none() -> None:
    world = World(Rules(language="en", instructions="Be brief.", tools=TOOLS))
    world.begin()
    world.say("Hello.")
    tool(world, NOTE, {"noted": {"reason": "x"}})
    assert entered(world) == []
    assert instructions(world) == "Be brief."


def test_the_prompts_of_a_step_begin_alike_and_a_change_of_the_step_changes_the_first_message() -> None:
    world = begun()
    for words in ("Hello.", "I am Ann.", "It hurts."):
        world.say(words)
        world.answer("Why do you call?")
        world.play_all()
    world.say("An appointment.")
    tool(world, NOTE, {"noted": {"reason": "appointment"}})
    world.answer("When?")
    world.play_all()
    world.say("Tomorrow.")
    prompts = [list(action.messages) for action in world.actions if isinstance(action, act.Generate)]
    for before, after in pairwise(prompts[:4]):
        assert after[: len(before)] == before
    assert prompts[4][1 : len(prompts[3])] == prompts[3][1:]
    assert prompts[4][0] != prompts[3][0]
    assert prompts[5][: len(prompts[4])] == prompts[4]
