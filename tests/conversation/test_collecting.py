"""Values that the turn engine collects itself: asked for, heard, read back, corrected and given up, in any order of events."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conversation.test_properties import MOVES, come_to_rest
from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.collecting import progress_of
from voiceagent.conversation.rules import CollectRule, Phrases, Rules, StepRule, ToolRule, TransitionRule
from voiceagent.conversation.state import Phase, Step
from voiceagent.conversation.steps import NOTE
from voiceagent.settings.agent import load_agent
from voiceagent.settings.values import collected as settings_of
from voiceagent.values.kind import Frame
from voiceagent.values.kinds import kind

PHONE = CollectRule("phone", options={"region": "DE"}, confirm="always")
NAME = CollectRule("name", ask="Your name, please?")
STEPS = {
    "who": StepRule("Be brief.", ("phone", "name"), (TransitionRule("done"),), {"phone": PHONE, "name": NAME}),
    "done": StepRule("Say goodbye."),
}
TOOLS = {NOTE: ToolRule("idempotent"), "book": ToolRule("external", collect={"phone": PHONE})}
ASKED = "What is your phone number?"
READ_BACK = "0 3 0, 1 2 3, 4 5 6 7, is that right?"
AGAIN = f"Sorry, once more, please. {ASKED}"


def begun(**rules: Any) -> World:
    world = World(Rules(**{"language": "en", "instructions": "You are a clinic.", "steps": STEPS, "tools": TOOLS, **rules}))
    world.feed(ev.CallStarted(world.now_ms, "2026-11-27"))
    return world


def greeted(**rules: Any) -> World:
    world = begun(phrases=Phrases(greeting="Hello."), **rules)
    world.play_all()
    return world


def says(world: World, words: str) -> str:
    """The caller says this and hears the answer. Returns it, if the language model had no part in it."""
    world.say(words)
    world.play_all()
    return world.assistant_texts()[-1] if not world.generations else ""


def stages(world: World) -> list[tuple[str, str, str]]:
    told = (action for action in world.actions if isinstance(action, act.ValueCollected))
    return [(one.name, one.stage, one.value) for one in told]


def test_values_are_asked_for_read_back_and_lead_to_the_next_step_without_the_language_model() -> None:
    world = greeted()
    assert world.assistant_texts() == [f"Hello. {ASKED}"]
    assert says(world, "It is 030 12 34 567.") == READ_BACK
    assert says(world, "Yes, that is right.") == "Thank you. Your name, please?"
    world.say("My name is Taylor.")
    assert world.state.flow.step == "done"
    assert world.state.flow.values == {"phone": "+49301234567", "name": "Taylor"}
    assert len(world.generations) == 1
    assert stages(world) == [
        ("phone", "collecting", ""),
        ("phone", "heard", "+49301234567"),
        ("phone", "confirmed", "+49301234567"),
        ("name", "collecting", ""),
        ("name", "confirmed", "Taylor"),
    ]
    notes = [call for message in world.generations[0].messages for call in message.tool_calls]
    assert [json.loads(note.arguments) for note in notes] == [{"phone": "+49301234567"}, {"name": "Taylor"}]


def test_a_part_is_kept_and_the_rest_asked_for() -> None:
    world = greeted()
    assert says(world, "030.") == "And the rest, please?"
    assert says(world, "1234") == "0 3 0, 1 2 3 4, is that right?"


def test_a_no_asks_again_and_another_value_is_a_correction() -> None:
    world = greeted()
    says(world, "0307654321")
    assert says(world, "No.") == AGAIN
    says(world, "0307654321")
    assert says(world, "No, 0301234567") == READ_BACK
    assert says(world, "Yes") == "Thank you. Your name, please?"


def test_something_else_is_answered_by_the_model_and_the_engine_asks_again() -> None:
    world = greeted()
    assert says(world, "Are you open today?") == ""
    world.answer("Yes, until five.")
    world.play_all()
    assert world.assistant_texts()[-1] == f"Yes, until five. {ASKED}"
    says(world, "0301234567")
    assert says(world, "And tomorrow?") == ""
    world.answer("Tomorrow, too.")
    world.play_all()
    assert world.assistant_texts()[-1] == f"Tomorrow, too. {READ_BACK}"


def test_a_question_of_the_model_is_not_followed_by_another_and_its_yes_confirms_nothing() -> None:
    world = greeted()
    says(world, "0301234567")
    says(world, "Hm, what about Sunday?")
    world.answer("Do you need us on Sunday?")
    world.play_all()
    assert world.assistant_texts()[-1] == "Do you need us on Sunday?"
    assert says(world, "Yes.") == ""
    world.answer("We are closed then.")
    world.play_all()
    assert world.assistant_texts()[-1] == f"We are closed then. {READ_BACK}"


def test_a_yes_to_a_value_that_was_not_heard_confirms_nothing() -> None:
    world = greeted()
    world.say("0301234567")
    world.synthesise_all()
    world.frames(12)
    world.say("Yes, okay, yes.")
    world.settle()
    assert stages(world)[-1] == ("phone", "heard", "+49301234567")


def test_a_value_is_given_up_after_its_tries() -> None:
    for give_up, step in (("model", "who"), ("done", "done"), ("transfer", "who")):
        rule = CollectRule("phone", options={"region": "DE"}, confirm="always", tries=2, give_up=give_up)
        steps = {**STEPS, "who": StepRule("", ("phone",), (TransitionRule("done"),), {"phone": rule})}
        world = greeted(steps=steps, transfers=give_up == "transfer")
        says(world, "0301234567")
        assert says(world, "No.") == AGAIN
        says(world, "0301234567")
        world.say("No.")
        assert stages(world)[-1][:2] == ("phone", "given_up")
        assert world.state.flow.step == step
        if give_up == "transfer":
            world.play_all()
            assert any(isinstance(action, act.Transfer) for action in world.actions)
        else:
            assert len(world.generations) == 1
            world.answer("Never mind.")
            world.play_all()
            assert world.assistant_texts()[-1] == "Never mind."


def test_the_words_that_lead_to_a_task_may_hold_the_value() -> None:
    world = begun(steps={"why": StepRule("", ("why",), (TransitionRule("who"),), {}), **STEPS})
    world.say("An appointment, my number is 0301234567.")
    world.call_tool(NOTE)
    world.generated()
    world.finish_tool('{"noted": {"why": "appointment"}}')
    world.play_all()
    assert world.assistant_texts()[-1] == READ_BACK


def test_a_tool_runs_once_its_parameter_was_collected_and_the_model_invents_none() -> None:
    world = begun(steps={})
    world.say("Book it.")
    world.call_tool("book", '{"day": "Friday", "phone": "555"}')
    assert not world.tools
    world.generated()
    world.play_all()
    assert world.assistant_texts() == [ASKED]
    assert says(world, "0301234567") == READ_BACK
    world.say("Yes.")
    assert json.loads(world.tools[0].arguments) == {"day": "Friday", "phone": "+49301234567"}
    world.finish_tool()
    assert len(world.generations) == 1
    world.call_tool("book", '{"day": "Monday"}')  # a telephone number stays the same
    assert json.loads(world.tools[0].arguments) == {"day": "Monday", "phone": "+49301234567"}


def test_a_tool_that_needs_a_value_and_a_yes_gets_both() -> None:
    tools = {"book": ToolRule("external", confirm="Shall I book {day} for {phone}?", collect={"phone": PHONE})}
    world = begun(steps={}, tools=tools)
    world.say("Book it.")
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.play_all()
    says(world, "0301234567")
    assert says(world, "Yes.") == "Shall I book Friday for +49301234567?"
    assert not world.tools
    world.say("Yes, please.")
    assert json.loads(world.tools[0].arguments) == {"day": "Friday", "phone": "+49301234567"}


def test_a_tool_whose_value_was_given_up_does_not_run() -> None:
    rule = CollectRule("phone", options={"region": "DE"}, tries=1)
    world = begun(steps={}, tools={"book": ToolRule("external", collect={"phone": rule})})
    world.say("Book it.")
    world.call_tool("book")
    world.generated()
    world.play_all()
    world.say("I have none.")
    assert not world.tools
    world.answer("Then I cannot book.")
    world.play_all()
    assert world.assistant_texts()[-1] == "Then I cannot book."


def test_an_early_answer_is_heard_together_with_what_follows() -> None:
    world = greeted()
    world.say("030")
    world.say("1234 567")  # nothing of the answer was heard yet
    world.settle()
    world.play_all()
    assert world.assistant_texts()[-1] == READ_BACK


def test_half_a_number_waits_for_the_rest_and_no_speculative_reply_begins() -> None:
    world = greeted()
    world.speech()
    world.pause_with("030 12")
    world.silence()
    assert not world.generations
    step = Step(world.state, world.now_ms)
    assert [progress_of(step, words) for words in ("030 12", "030 12 34 567", "Are you open?")] == ["open", "growing", ""]


def test_an_agent_that_collects_nothing_is_as_before() -> None:
    world = begun(steps={}, tools={})
    world.say("0301234567")
    world.answer("Okay.")
    world.play_all()
    assert not stages(world)
    assert world.assistant_texts() == ["Okay."]


class Careful(World):
    """Fails when a value is taken for right that the caller neither heard nor gave twice, or a tool runs with one that was
    neither confirmed nor given up."""

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        actions = super().feed(event)
        for action in actions:
            if isinstance(action, act.RunTool) and action.name == "book":
                ended = ("confirmed", json.loads(action.arguments)["phone"]) if "phone" in action.arguments else ("given_up", "")
                assert ended in {(stage, value if stage == "confirmed" else "") for _, stage, value in stages(self)}
            elif isinstance(action, act.ValueCollected) and action.stage == "confirmed" and "phone" in action.name:
                read_back = kind("phone").confirm(action.value, Frame("en", region="DE")) + ","
                assert read_back in " ".join(self.assistant_texts()) or self.times_given(action.value) > 1
        return actions

    def times_given(self, value: str) -> int:
        """How many times the caller gave this number."""
        words = " ".join(message.content for message in self.state.memory.history if message.role == "user")
        return words.count(value.replace("+49", "0"))


SAID = ("0301234567", "030", "Yes.", "No.", "No, 0307654321.", "Taylor", "Are you open?", "Mm-hm.", "")


def answered(world: World, words: str) -> None:
    """The caller says this, and hears whatever the answer is."""
    world.say(words)
    world.settle()
    world.answer("So it is.")
    world.play_all()


def booked(world: World, text: str) -> None:
    world.say("Book it.")
    world.settle()
    world.call_tool("book", '{"phone": "555"}')
    world.generated()
    world.play_all()


COLLECTING: dict[str, Callable[[World, str], object]] = {
    **MOVES,
    "says": lambda world, text: world.say(text),
    "hears": lambda world, text: world.play_all(),
    "answered": answered,
    "number": lambda world, text: answered(world, "0301234567"),
    "agreed": lambda world, text: answered(world, "Yes."),
    "booked": booked,
    "note": lambda world, text: world.call_tool(NOTE, '{"name": "Ann"}'),
    "key": lambda world, text: (
        world.feed(ev.TextReceived(world.now_ms, "0301234567")),
        world.feed(ev.ReplyRequested(world.now_ms)),
    ),
}
often = ["says", "hears", "answered", "number", "number", "agreed", "agreed", "booked", "key", "settle", "frames", "tool_done"]
collecting_moves = st.one_of(st.sampled_from(often), st.sampled_from(often), st.sampled_from(sorted(COLLECTING)))
collecting_scripts = st.lists(st.tuples(collecting_moves, st.sampled_from(SAID)), max_size=50)


def collected(script: list[tuple[str, str]], greeting: str, give_up: str) -> World:
    """A call of an agent with steps if a value is given up to one of them, else without."""
    rule = CollectRule("phone", options={"region": "DE"}, confirm="always", tries=2, give_up=give_up)
    who = StepRule("", ("phone", "name"), (TransitionRule("done"),), {"phone": rule, "name": NAME})
    steps = {**STEPS, "who": who} if give_up == "done" else {}
    tools = {
        **TOOLS,
        "book": ToolRule("external", collect={"phone": rule}),
        "find": ToolRule("none"),
        "pay": ToolRule("external", (), "Shall I pay {day}?"),
    }
    rules = Rules(language="en", phrases=Phrases(greeting=greeting, apology="Sorry."), steps=steps, tools=tools, transfers=True)
    world = Careful(rules)
    world.begin()
    for move, text in script:
        COLLECTING[move](world, text)
    return world


TYPED_TWICE = [("booked", ""), ("key", ""), ("clause_breaks", ""), ("key", "")]
"""The voice fails while the number is read back. The caller, who heard "0", gives the same number again."""


@given(collecting_scripts, st.sampled_from(["", "Hello."]), st.sampled_from(["model", "transfer", "done"]))
@example(TYPED_TWICE, "Hello.", "model")
@settings(max_examples=200, deadline=None)
def test_no_order_of_events_confirms_a_value_that_was_not_heard_or_hangs(
    script: list[tuple[str, str]], greeting: str, give_up: str
) -> None:
    world = collected(script, greeting, give_up)
    assert world.actions == collected(script, greeting, give_up).actions
    assert set(world.timers) == world.state.timers
    assert come_to_rest(world).state.phase in (Phase.IDLE, Phase.ENDED)
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    while world.drops:
        world.settle()
    heard = " ".join(word for reply_id in sorted(world.played) for word in world.played[reply_id])
    assert " ".join(world.assistant_texts()) == heard
    assert [notice.reply_id for notice in world.beginnings()] == [notice.reply_id for notice in world.endings()]
    prompts = [action.messages for action in world.actions if isinstance(action, act.Generate)]
    for messages in prompts:
        calls = [call.call_id for message in messages for call in message.tool_calls]
        assert calls == [message.tool_call_id for message in messages if message.role == "tool"]


def test_a_card_is_known_by_its_mark_and_collected_again_at_another_server() -> None:
    pays = ToolRule("external", collect={"card": CollectRule("card", confirm="always")})
    world = begun(steps={}, tools={"pay": pays})
    world.say("Let me pay.")
    world.call_tool("pay")
    world.generated()
    world.play_all()
    assert says(world, "[part 1 of a card]") == "And the rest, please?"
    assert says(world, "[card ending 4242]") == "the card ending in 4 2 4 2, is that right?"
    world.say("Yes.")
    assert json.loads(world.tools[0].arguments) == {"card": "card ending 4242"}
    world.feed(ev.HandedOver(world.now_ms))
    assert not machine.start(world.state.rules, world.state).collecting.known


def test_the_clinics_german_reception_collects_in_german() -> None:
    agent = load_agent(Path(__file__).parents[2] / "examples" / "clinic" / "agent.de.yaml")
    rules = [settings_of(value).rule for value in (*agent.collect.values(), agent.steps["slot"].values["day"])]
    tools = {"buchen": ToolRule("external", confirm="Soll ich buchen?", collect={"phone": rules[0], "day": rules[1]})}
    world = begun(steps={}, tools=tools, language=agent.language)
    world.say("Bitte buchen.")
    world.call_tool("buchen")
    world.generated()
    world.play_all()
    assert world.assistant_texts() == ["Unter welcher Nummer erreichen wir Sie?"]
    assert says(world, "null drei null zweiundvierzig siebzehn dreiunddreißig") == "0 3 0, 4 2 1, 7 3 3, ist das richtig?"
    assert says(world, "Ja, genau.") == "Danke. Für welchen Tag?"
    assert says(world, "Übermorgen bitte.") == "Soll ich buchen?"
    world.say("Ja, bitte.")
    assert json.loads(world.tools[0].arguments) == {"phone": "+4930421733", "day": "2026-11-29"}


def test_a_call_goes_on_at_another_server_with_what_was_collected() -> None:
    world = greeted()
    says(world, "0301234567")
    world.feed(ev.HandedOver(world.now_ms))
    state = machine.start(world.state.rules, world.state)
    assert state.collecting.task == world.state.collecting.task


@pytest.mark.parametrize(("words", "entered"), [("I want to speak to a person.", "desk"), ("Can we start over?", "why")])
def test_a_caller_who_wants_something_else_is_not_asked_for_the_tools_value_any_more(words: str, entered: str) -> None:
    steps = {
        "why": StepRule("Ask why.", ("why",), (TransitionRule("slot"),), everywhere=True),
        "slot": StepRule("Find a time.", (), (TransitionRule("why", after="book"),)),
        "desk": StepRule("Say that somebody calls back.", for_person=True, everywhere=True),
    }
    world = begun(steps=steps)
    world.say("An appointment.")
    world.call_tool(NOTE)
    world.generated()
    world.finish_tool('{"noted": {"why": "appointment"}}')
    world.call_tool("book", '{"day": "Friday"}')
    world.generated()
    world.play_all()
    assert world.assistant_texts()[-1] == ASKED
    world.say(words)
    assert world.state.flow.step == entered
    world.answer("All right.")
    world.play_all()
    assert world.assistant_texts()[-1] == "All right."
    assert world.state.collecting.call is None


def test_start_over_is_about_the_value_while_it_is_read_back_and_then_about_everything() -> None:
    steps = {**STEPS, "who": msgspec.structs.replace(STEPS["who"], everywhere=True)}
    world = greeted(steps=steps)
    says(world, "0301234567")
    assert says(world, "Start over.") == AGAIN
    says(world, "0301234567")
    assert says(world, "Yes.") == "Thank you. Your name, please?"
    assert says(world, "Start over.") == ASKED
    assert world.state.flow.values == {}
