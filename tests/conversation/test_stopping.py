"""A caller who only tells the agent to stop or to wait: a phrase answers, and not the language model."""

from __future__ import annotations

import pytest

from tests.conversation.test_late_results import waiting
from tests.conversation.world import World, begun
from tests.turn_taking.test_request import HALTS, pairs
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import CollectRule, Phrases, ReplyRules, ReplyWish, Rules, StepRule, ToolRule
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.languages import LANGUAGES, language

TOOLS = {"find": ToolRule("none"), "pay": ToolRule(confirm="Shall I pay?")}


def generations(world: World) -> int:
    """The number of generations that began."""
    return sum(isinstance(action, act.Generate) for action in world.actions)


def say(world: World, words: str) -> World:
    """The caller says this, with a pause that is long enough for a speculative reply."""
    world.speech()
    world.partial(words)
    world.pause_with(words)
    world.silence()
    world.endpoint()
    world.settle()
    return world


def told_a_story(code: str) -> World:
    world = World(Rules(language=code, tools=TOOLS))
    world.begin()
    world.say("Hello?")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    return world


def assert_phrase_answers(world: World, words: str, phrase: str) -> None:
    before = generations(world)
    say(world, words)
    world.play_all()
    assert generations(world) == before
    assert (world.user_texts()[-1], world.assistant_texts()[-1]) == (words, phrase)
    assert world.state.phase is Phase.IDLE


def assert_model_answers(world: World, words: str) -> None:
    before = generations(world)
    say(world, words)
    assert generations(world) > before
    world.answer("As you like.")
    world.play_all()
    assert world.assistant_texts()[-1].startswith("As you like.")


@pytest.mark.parametrize("frames", [0, 20, 100])
@pytest.mark.parametrize(("code", "words"), pairs(HALTS))
def test_a_phrase_answers_a_command_over_the_agents_speech_after_it_or_before_it(code: str, words: str, frames: int) -> None:
    world = told_a_story(code) if frames else World(Rules(language=code))
    if not frames:
        world.begin()
    world.frames(frames)
    assert_phrase_answers(world, words, language(code).sayings.stopped)
    assert_model_answers(world, "What time is it?")
    assert words in [message.content for message in world.state.memory.history]


def test_every_language_has_the_phrase() -> None:
    assert all(each.sayings.stopped for each in LANGUAGES.values())


@pytest.mark.parametrize("words", ["Stopp.", "Basta.", "Arrêtez.", "Hou op."])
def test_a_command_of_any_language_is_answered_where_the_agent_speaks_any(words: str) -> None:
    world = World(Rules(language="auto"))
    world.begin()
    assert_phrase_answers(world, words, language(world.state.spoken.code).sayings.stopped)


def test_the_agents_own_phrase_is_said() -> None:
    assert_phrase_answers(begun(phrases=Phrases(stopped="All right.")), "Stop.", "All right.")


def test_a_typed_command_is_answered_by_the_phrase() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Stop."))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.play_all()
    assert (generations(world), world.assistant_texts()) == (0, ["Okay."])


@pytest.mark.parametrize(
    "words", ["Stop. What time is it?", "Wait, say that again.", "Stop the music.", "Cancel my booking. No, stop.", "Okay."]
)
def test_the_model_answers_other_words(words: str) -> None:
    assert_model_answers(begun(), words)


def test_the_model_answers_what_follows_before_the_phrase_is_heard() -> None:
    world = say(begun(), "Stop.")
    assert_model_answers(world, "What time is it?")
    assert world.user_texts() == ["Stop. What time is it?"]


def test_the_model_answers_where_the_phrase_is_empty() -> None:
    assert_model_answers(begun(phrases=Phrases(stopped="")), "Stop.")


def test_the_model_answers_a_client_that_wants_something_of_the_reply() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Stop."))
    world.feed(ev.ReplyRequested(world.now_ms, ReplyWish(rules=ReplyRules(must_call="find"))))
    assert generations(world) == 1


def test_the_model_answers_a_caller_who_waits_for_a_result() -> None:
    world = waiting()
    world.answer("All right.")
    world.play_all()
    assert world.state.late.running
    assert_model_answers(world, "Hold on a second.")


def test_the_model_answers_a_caller_who_interrupts_the_wait_for_a_lookup() -> None:
    world = begun(tools=TOOLS)
    world.say("Find it.")
    world.call_tool("find")
    world.generated()
    assert_model_answers(world, "Stop.")


def test_the_model_answers_a_caller_who_has_heard_nothing_of_a_result() -> None:
    world = waiting()
    world.answer("All right.")
    world.synthesise_all()
    world.frames(3)
    world.finish_tool("A1")
    assert [run.output for run in world.state.late.owed] == ["A1"]
    assert_model_answers(world, "Stop.")


def test_the_model_answers_a_caller_who_was_asked_to_confirm() -> None:
    world = begun(tools=TOOLS)
    world.say("Pay the bill.")
    world.call_tool("pay")
    world.generated()
    world.play_all()
    assert world.assistant_texts() == ["Shall I pay?"]
    assert_model_answers(world, "Stop.")
    assert not world.tools


@pytest.mark.parametrize("greeting", ["", "Hello."])
def test_the_model_answers_a_caller_who_is_asked_for_a_value_and_the_engine_asks_again(greeting: str) -> None:
    steps = {"book": StepRule(collect={"phone": CollectRule("phone")})}
    world = begun(steps=steps, phrases=Phrases(greeting=greeting))
    world.play_all()
    assert_model_answers(world, "Hold on a second.")
    assert world.assistant_texts()[-1] == "As you like. What is your phone number?"
