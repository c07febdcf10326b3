"""An agent that is a graph: the step of a call, the values it knows, and what the model reads of them."""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import CollectRule, Limits, Phrases, ReplyRules, Rules, StepRule, ToolRule, TransitionRule
from voiceagent.conversation.state import State
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


OTHER = Rules(
    language="de",
    instructions="You are the billing desk.",
    steps={
        "ask": StepRule("Ask for the number.", ("number",), (TransitionRule("back"),)),
        "back": StepRule(handoff="agent.yaml"),
    },
    tools=TOOLS,
)


def handing_off(line: str = "", passes: tuple[str, ...] | None = None, *, summary: bool = True, **others: object) -> World:
    """A clinic that hands everything off that is no appointment."""
    ways = (TransitionRule("billing", {"reason": "invoice"}), TransitionRule("slot"))
    steps = {
        "reason": StepRule("Ask why they call.", ("reason", "name"), ways),
        "billing": StepRule(handoff="billing.yaml", summary=summary, passes=passes),
        "slot": StepRule(),
    }
    own = Rules(language="en", instructions="You are a clinic.", steps=steps, tools=TOOLS, phrases=Phrases(handoff=line))
    agents = {"billing.yaml": replace(OTHER, **others), "agent.yaml": own}
    world = World(replace(own, agents=agents, limits=Limits(max_call_ms=5000.0)))
    world.begin()
    world.say("Hello there.")
    world.answer("Hello, why do you call?")
    world.play_all()
    world.say("I am Ann, about my invoice.")
    tool(world, NOTE, {"noted": {"reason": "invoice", "name": "Ann"}})
    return world


def summarised(world: World, text: str) -> None:
    asked = next(action for action in reversed(world.actions) if isinstance(action, act.Summarise))
    world.feed(ev.Summarised(world.now_ms, text, asked.handoff))


def handed_off(world: World) -> list[tuple[str, bool]]:
    return [(action.agent, action.summary) for action in world.actions if isinstance(action, act.AgentChanged)]


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
    world.answer("Somebody calls you back.")
    world.play_all()
    world.say("No, from the very beginning.")
    tool(world, GO_TO, {"step": "reason"})
    assert (world.state.flow.step, world.state.flow.values) == ("reason", {})
    assert [message.content for message in world.generations[-1].messages if message.role == "user"] == [
        "No, from the very beginning."
    ]
    world.answer("Why do you call?")
    world.play_all()
    world.say("Somewhere else.")
    tool(world, GO_TO, {"step": "nowhere"})
    assert world.state.flow.step == "reason"


def test_the_model_goes_to_one_step_in_a_turn_of_the_caller() -> None:
    world = begun()
    world.say("I need something else.")
    tool(world, GO_TO, {"step": "desk"})
    world.call_tool(GO_TO, '{"step": "reason"}')
    world.generated()
    assert not world.tools  # it does not run
    assert world.generations[-1].messages[-1].content == '{"step": "desk"}'
    world.answer("Somebody calls you back.")
    world.play_all()
    assert entered(world) == ["reason", "desk"]
    world.say("Something else, after all.")
    for step in ("reason", "desk"):  # both in one round
        world.call_tool(GO_TO, json.dumps({"step": step}))
    world.generated()
    for run in world.tools:
        world.feed(ev.ToolFinished(world.now_ms, run.reply_id, run.call_id, run.arguments, True))
    assert entered(world) == ["reason", "desk", "reason"]


def test_only_the_caller_leads_out_of_a_final_step() -> None:
    steps = {**STEPS, "reason": replace(STEPS["reason"], everywhere=True), "done": replace(STEPS["done"], final=True)}
    steps["desk"] = replace(STEPS["desk"], for_person=True)
    world = World(Rules(language="en", instructions="You are a clinic.", steps=steps, tools=TOOLS))
    world.begin()
    world.say("I need an appointment.")
    tool(world, NOTE, {"noted": {"reason": "appointment"}})
    tool(world, "book", {"booked": True})
    for words in ("Thank you.", "What now?"):
        world.call_tool(GO_TO, '{"step": "reason"}')
        world.generated()
        assert not world.tools
        world.answer("Goodbye.")
        world.play_all()
        world.say(words)
    assert entered(world) == ["reason", "slot", "done"]
    world.answer("Nothing.")
    world.play_all()
    world.say("I want to speak to a person.")
    world.answer("Somebody calls you back.")
    world.play_all()
    world.say("Sorry, can we start over?")
    assert entered(world) == ["reason", "slot", "done", "desk", "reason"]
    assert world.state.flow.values == {}
    assert [message.content for message in world.generations[-1].messages] == [
        "You are a clinic.\n\nAsk why they call.",
        "Sorry, can we start over?",  # and nothing from which the model could note the old values again
    ]
    world.call_tool(GO_TO, '{"step": "desk"}')  # the same request once more
    world.generated()
    assert not world.tools


def test_no_reply_begins_in_the_pause_behind_a_request_to_start_over() -> None:
    world = World(Rules(language="en", steps={**STEPS, "reason": replace(STEPS["reason"], everywhere=True)}, tools=TOOLS))
    world.begin()
    world.speech()
    world.pause_with("Let's start over.")
    world.silence()
    assert not world.generations


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


def test_another_agent_takes_over_behind_the_line_and_reads_the_summary() -> None:
    world = handing_off("One moment, please.")
    assert entered(world) == ["reason", "billing"]
    summarised(world, "Ann has an invoice.")
    assert not handed_off(world)
    world.play_all()
    assert handed_off(world) == [("billing.yaml", True)]
    assert entered(world) == ["reason", "billing", "ask"]
    assert world.assistant_texts() == []
    assert world.endings()[-1].heard == "One moment, please."
    prompt = world.generations[-1].messages
    known = 'Bisher bekannt: {"name": "Ann", "reason": "invoice"}'
    assert prompt[0].content.startswith(f"You are the billing desk.\n\nAsk for the number.\n\n{known}\n\n")
    assert prompt[0].content.endswith("Ann has an invoice.")
    assert [message.content for message in prompt[1:]] == ["I am Ann, about my invoice."]
    assert act.LanguageChanged("de") in world.actions
    assert world.state.rules.limits.max_call_ms == 5000.0


def test_without_a_line_it_waits_for_the_summary_and_without_one_it_reads_the_last_turns() -> None:
    world = handing_off()
    assert not handed_off(world)
    summarised(world, "")
    assert handed_off(world) == [("billing.yaml", False)]
    said = [(message.role, message.content) for message in world.generations[-1].messages[1:]]
    assert said == [
        ("user", "Hello there."),
        ("assistant", "Hello, why do you call?"),
        ("user", "I am Ann, about my invoice."),
    ]


def test_a_caller_who_speaks_first_is_answered_by_the_other_agent_at_once() -> None:
    waiting, interrupting = handing_off(), handing_off("One moment, please.")
    waiting.speech()
    assert handed_off(waiting) == [("billing.yaml", False)]
    interrupting.synthesise_all()
    interrupting.frames(10)
    interrupting.say("No, wait a second.")
    interrupting.settle()
    assert handed_off(interrupting) == [("billing.yaml", False)]
    waiting.endpoint()
    waiting.final("It is urgent.")
    for world in (waiting, interrupting):
        assert instructions(world).startswith("You are the billing desk.")
        before = len(world.actions)
        summarised(world, "Too late.")
        assert not world.actions[before:]


def test_only_what_the_settings_say_is_passed_on() -> None:
    world = handing_off(passes=("reason",), summary=False)
    assert not any(isinstance(action, act.Summarise) for action in world.actions)
    assert world.state.flow.values == {"reason": "invoice"}
    assert handed_off(world) == [("billing.yaml", False)]


def test_a_call_is_handed_back() -> None:
    world = handing_off()
    summarised(world, "Ann has an invoice.")
    world.answer("Which number?")
    world.play_all()
    world.say("Forty-two.")
    tool(world, NOTE, {"noted": {"number": 42}})
    summarised(world, "It is invoice 42.")
    assert [agent for agent, _ in handed_off(world)] == ["billing.yaml", "agent.yaml"]
    assert entered(world)[-2:] == ["back", "reason"]
    assert world.state.flow.values["number"] == 42
    assert instructions(world).startswith("You are a clinic.")


def test_an_agent_without_steps_reads_what_is_known_and_keeps_what_the_client_set() -> None:
    world = handing_off(steps={})
    world.feed(ev.SettingsChanged(world.now_ms, replies=ReplyRules(max_tokens=7)))
    summarised(world, "")
    assert world.state.flow.step == ""
    assert 'Bisher bekannt: {"name": "Ann"' in instructions(world)
    assert world.state.rules.replies.max_tokens == 7


def test_a_call_that_was_handed_off_goes_on_at_another_server() -> None:
    for moment in ("leaving", "left"):
        world = handing_off("One moment, please.")
        rules = world.state.rules
        if moment == "left":
            summarised(world, "Ann has an invoice.")
            world.play_all()
            world.feed(ev.InstructionsChanged(world.now_ms, "Changed."))
        world.feed(ev.HandedOver(world.now_ms))
        world.settle()
        left = msgspec.json.decode(msgspec.json.encode(world.state, enc_hook=float), type=State)
        other = World(rules)
        other.state = machine.start(rules, left)
        other.begin()
        assert other.state.flow.step == ("billing" if moment == "leaving" else "ask")
        other.feed(ev.ConnectionResumed(other.now_ms))
        if moment == "leaving":
            assert handed_off(other) == [("billing.yaml", False)]  # the caller waits: it answers at once
            assert instructions(other).startswith("You are the billing desk.")
            assert "One moment, please." not in [action.text for action in other.to_speak]
        else:
            assert other.state.rules.instructions == "Changed."
            other.say("Forty-two.")
            assert instructions(other).startswith("Changed.\n\nAsk for the number.")


def test_a_value_that_the_engine_collects_leads_to_the_other_agent_too() -> None:
    for line in ("", "One moment, please."):
        steps = {
            "reason": StepRule("", ("phone",), (TransitionRule("billing"),), {"phone": CollectRule("phone", confirm="never")}),
            "billing": StepRule(handoff="billing.yaml", summary=False),
        }
        world = World(Rules(language="en", steps=steps, phrases=Phrases(handoff=line), agents={"billing.yaml": OTHER}))
        world.begin()
        world.say("Hello.")
        world.answer("Hello.")
        world.play_all()
        world.say("It is 202 555 0143.")
        assert not world.generations or line == ""
        world.play_all()
        assert handed_off(world) == [("billing.yaml", False)]
        assert world.endings()[-1].heard == line
        assert instructions(world).startswith("You are the billing desk.")
        assert world.state.flow.values == {"phone": "+12025550143"}


def test_the_last_words_are_said_again_without_the_language_model() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Why do you call? Please tell me more about it.")
    world.play_all()
    for words in ("Sorry, could you say that again, please?", "Pardon?"):
        world.say(words)
        world.play_all()
        assert world.endings()[-1].heard == "Why do you call? Please tell me more about it."
    world.say("Repeat my appointment for Friday.")
    assert len(world.generations) == 1


def test_what_was_cut_off_is_said_again_as_a_whole() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("We are open from nine to five on every day of the week.")
    world.synthesise_all()
    world.frames(40)
    world.say("What was that?")
    world.settle()
    world.play_all()
    assert world.endings()[-1].heard == "We are open from nine to five on every day of the week."


def test_a_question_that_is_said_again_stays_open() -> None:
    world = World(Rules(language="en", steps=STEPS, tools={**TOOLS, "book": ToolRule("external", confirm="Shall I book it?")}))
    world.begin()
    world.say("Book it.")
    world.call_tool("book")
    world.generated()
    world.play_all()
    world.say("I didn't catch that.")
    world.play_all()
    assert world.endings()[-1].heard == "Shall I book it?"
    world.say("Yes, please.")
    assert [run.name for run in world.tools] == ["book"]


def test_a_caller_who_asks_for_a_person_goes_to_the_step_for_that() -> None:
    steps = {**STEPS, "desk": StepRule("Say that somebody will call back.", for_person=True)}
    world = World(Rules(language="en", instructions="You are a clinic.", steps=steps, tools=TOOLS))
    world.begin()
    world.speech()
    world.pause_with("Can I speak to a real person?")
    world.silence()
    assert not world.generations
    world.endpoint()
    assert entered(world) == ["reason", "desk"]
    assert instructions(world).endswith("Say that somebody will call back.")
    world.answer("Somebody will call you back.")
    world.play_all()
    world.say("Can I speak to a real person?")
    assert entered(world) == ["reason", "desk"]


def test_a_person_may_be_another_agent_and_a_transfer_goes_first() -> None:
    steps = {**STEPS, "desk": StepRule(handoff="billing.yaml", summary=False, for_person=True)}
    rules = Rules(language="en", steps=steps, tools=TOOLS, agents={"billing.yaml": OTHER}, phrases=Phrases(handoff="One moment."))
    for transfers in (False, True):
        world = World(replace(rules, transfers=transfers))
        world.begin()
        world.say("I want to talk to a person.")
        world.play_all()
        assert bool(handed_off(world)) is not transfers
        assert any(isinstance(action, act.Transfer) for action in world.actions) is transfers
