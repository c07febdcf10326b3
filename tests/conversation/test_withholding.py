"""A turn that asks for nothing runs no tool with an effect, whatever the model calls. No phrase answers "stop" here."""

from __future__ import annotations

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Phrases, Rules, ToolRule
from voiceagent.turn_taking.languages.en import ENGLISH

TOOLS = {"find": ToolRule("none"), "cancel_booking": ToolRule("external"), "pay": ToolRule("external", (), "Shall I pay {sum}?")}
CANCEL = "cancel_booking"
BY_MODEL = Phrases(stopped="")


def answered(world: World, name: str = CANCEL) -> World:
    """The model calls a tool, and then is asked for words."""
    world.settle()
    world.call_tool(name)
    world.generated()
    return world


def told(world: World) -> str:
    """What the model reads last."""
    return world.generations[-1].messages[-1].content


def assert_withheld(world: World) -> None:
    assert not world.tools
    assert told(world) == ENGLISH.prompts.tool_not_asked_for
    world.answer("All right.")
    world.play_all()
    assert world.assistant_texts()[-1].endswith("All right.")


@pytest.mark.parametrize("words", ["Stop.", "No, stop.", "Okay.", "Mm-hmm.", "Hold on a second."])
@pytest.mark.parametrize("greeting", ["", "Hello, how can I help you?"])
def test_the_first_words_of_a_call_run_nothing(words: str, greeting: str) -> None:
    world = begun(tools=TOOLS, phrases=Phrases(greeting=greeting, stopped=""))
    world.play_all()
    world.say(words)
    assert_withheld(answered(world))


def test_a_command_over_the_agents_speech_runs_nothing() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(20)
    world.say("Stop.")
    assert_withheld(answered(world))


def test_a_command_in_two_utterances_runs_nothing() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Stop.")
    world.say("Please.")
    assert_withheld(answered(world))
    assert world.user_texts() == ["Stop. Please."]


def test_a_command_in_the_callers_own_pause_takes_the_request_back() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Cancel my booking")
    world.say("Stop.")
    assert_withheld(answered(world))


def test_a_request_after_a_command_runs() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Stop.")
    world.say("Cancel my booking.")
    assert [run.name for run in answered(world).tools] == [CANCEL]


def test_a_typed_command_runs_nothing() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.feed(ev.TextReceived(world.now_ms, "Stop."))
    world.feed(ev.ReplyRequested(world.now_ms))
    assert_withheld(answered(world))


def test_a_speculative_reply_to_a_command_runs_nothing_when_it_is_committed() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.speech()
    world.pause_with("Stop.")
    world.silence()
    world.call_tool(CANCEL)
    world.generated()
    world.endpoint()
    assert_withheld(world)


def test_further_rounds_of_the_reply_run_nothing_either() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Stop.")
    world.call_tool("find")
    world.generated()
    assert [run.name for run in world.tools] == ["find"], "a lookup leaves nothing behind"
    world.finish_tool()
    assert_withheld(answered(world))


def test_a_reply_that_the_client_asks_for_after_a_command_runs_nothing() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Stop.")
    world.answer("All right.")
    world.play_all()
    world.feed(ev.ReplyRequested(world.now_ms))
    assert_withheld(answered(world))


def test_nobody_is_asked_to_confirm_what_nobody_asked_for() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Okay.")
    assert_withheld(answered(world, "pay"))
    assert world.state.tools.confirming is None


def after(question: str) -> World:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("I booked a table.")
    world.answer(question)
    world.play_all()
    return world


@pytest.mark.parametrize("words", ["Okay.", "Yes.", "Yeah, right.", "Yes, please."])
def test_an_answer_to_a_question_of_the_agent_runs_what_it_asked_about(words: str) -> None:
    world = after("Shall I cancel the booking?")
    world.say(words)
    assert [run.name for run in answered(world).tools] == [CANCEL]


def test_a_question_stays_open_while_the_agent_asks_whether_the_caller_is_there() -> None:
    world = after("Shall I cancel the booking?")
    world.fire("silence")
    world.play_all()
    world.say("Yes.")
    assert [run.name for run in answered(world).tools] == [CANCEL]


def test_a_yes_to_whether_the_caller_is_there_runs_nothing() -> None:
    world = after("Your booking is at nine.")
    world.fire("silence")
    world.play_all()
    assert world.assistant_texts()[-1] == "Are you still there?"
    world.say("Yes.")
    assert_withheld(answered(world))


def test_an_answer_on_the_last_words_of_the_question_is_an_answer() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("I booked a table.")
    world.answer("Shall I cancel the booking for you?")
    world.synthesise_all()
    world.frames(45)
    world.say("Yes.")
    assert [run.name for run in answered(world).tools] == [CANCEL]


def test_a_command_to_stop_answers_no_question() -> None:
    world = after("Shall I cancel the booking?")
    world.say("Stop.")
    assert_withheld(answered(world))


def asked_to_pay(words: str) -> World:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Pay the bill.")
    world.call_tool("pay", '{"sum": "ten"}')
    world.generated()
    world.play_all()
    world.say(words)
    return world


def test_an_okay_confirms_and_what_the_reply_does_besides_is_done() -> None:
    world = asked_to_pay("Okay.")
    assert [run.name for run in world.tools] == ["pay"]
    world.finish_tool()
    assert [run.name for run in answered(world).tools] == [CANCEL]


@pytest.mark.parametrize("words", ["Stop.", "Okay, stop.", "Never mind."])
def test_a_command_to_stop_confirms_nothing(words: str) -> None:
    world = asked_to_pay(words)
    assert not world.tools
    assert_withheld(answered(world, "pay"))


def test_the_next_request_runs_again() -> None:
    world = begun(tools=TOOLS, phrases=BY_MODEL)
    world.say("Stop.")
    assert_withheld(answered(world))
    world.say("Cancel my booking.")
    assert [run.name for run in answered(world).tools] == [CANCEL]


@pytest.mark.parametrize("words", ["Stopp.", "Warte mal bitte.", "Basta.", "Arrêtez.", "Hou op."])
def test_the_commands_of_all_languages_count_where_the_agent_speaks_any(words: str) -> None:
    world = World(Rules(language="auto", tools=TOOLS, phrases=BY_MODEL))
    world.begin()
    world.say(words)
    assert_withheld(answered(world))
