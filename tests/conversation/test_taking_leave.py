"""The agent ends a call: after its goodbye was heard, unless the caller objects. Lines that are said to their end."""

from __future__ import annotations

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Phrases, ReplyWish, Rules, ToolRule
from voiceagent.conversation.silence import AGENT_ENDED
from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.languages.en import ENGLISH
from voiceagent.turn_taking.overlap import EAGER, MANNERS, Manners

END = "end_call"
TOOLS = {END: ToolRule("external", ends_call=True), "book": ToolRule("external"), "pay": ToolRule(confirm="Shall I pay?")}
GOODBYE = "Goodbye, and thanks for calling."
RULES = "This call is recorded for training."


def leaving(text: str = GOODBYE, code: str = "en", manners: Manners = EAGER) -> World:
    """The caller asks for something, and the model says this and ends the call."""
    world = World(Rules(language=code, tools=TOOLS, manners=manners))
    world.begin()
    world.say(language(code).sayings.fillers[0])
    world.text(text)
    world.call_tool(END, '{"reason": "all done"}')
    world.generated()
    world.synthesise_all()
    return world


def end_of(world: World) -> act.End:
    return next(action for action in world.actions if isinstance(action, act.End))


def over(world: World, words: str) -> World:
    """The caller says this while the agent speaks."""
    world.frames(20)
    world.speech()
    world.partial(words)
    world.frames(10)
    world.pause_with(words)
    world.endpoint()
    world.final(words)
    world.settle()
    return world


# --- the end ----------------------------------------------------------------------------------------------------------


def test_the_goodbye_is_heard_to_its_last_word() -> None:
    world = leaving()
    world.frames(10)
    assert world.ended == ""
    world.play_all()
    assert world.ended == AGENT_ENDED
    assert world.endings()[-1].heard == GOODBYE
    assert end_of(world).detail == "all done"
    assert not world.generations  # the model is not asked for another goodbye


def test_without_a_word_a_goodbye_is_said_first() -> None:
    world = leaving("")
    world.play_all()
    assert world.endings()[-1].heard == ENGLISH.sayings.farewell
    assert world.ended == AGENT_ENDED


def test_twice_is_once() -> None:
    world = World(Rules(language="en", tools=TOOLS))
    world.begin()
    world.say("That's all.")
    world.text(GOODBYE)
    world.call_tool(END, '{"reason": "first"}')
    world.call_tool(END, '{"reason": "second"}')
    world.generated()
    world.feed(ev.EndRequested(world.now_ms, "third"))
    world.play_all()
    assert [action.detail for action in world.actions if isinstance(action, act.End)] == ["first"]


@pytest.mark.parametrize("words", ["Wait, one more thing.", "What about tomorrow?", "No, I need another table."])
def test_an_objection_keeps_the_call(words: str) -> None:
    world = over(leaving(), words)
    assert world.generations[-1].messages[-1].content == words
    world.answer("Of course.")
    world.play_all()
    assert world.ended == ""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("en", "Okay, thank you, bye bye."),
        ("en", "Thanks a lot."),
        ("de", "Danke, tschüss."),
        ("fr", "Merci, au revoir."),
        ("es", "Muchas gracias, adiós."),
        ("it", "Grazie mille, arrivederci."),
        ("nl", "Dank je wel, tot ziens."),
        ("pt", "Muito obrigada, tchau."),
    ],
)
def test_a_goodbye_of_the_caller_is_no_objection(code: str, words: str) -> None:
    world = over(leaving(code=code), words)
    assert not world.generations
    world.play_all()
    for name in ("go_on", "overlap"):
        world.fire(name)
    world.play_all()
    assert world.ended == AGENT_ENDED


def test_every_language_knows_goodbyes() -> None:
    for each in LANGUAGES.values():
        assert len(each.farewells) > 10
        assert all(isinstance(text, str) and text for text in (each.prompts.end_call, each.prompts.call_ends))


def test_a_goodbye_that_outlasts_the_agents_ends_the_call() -> None:
    world = leaving(manners=MANNERS["wait"])
    world.frames(20)
    world.speech()
    world.play_all()
    assert world.endings()[-1].heard == GOODBYE
    assert world.ended == ""
    world.endpoint()
    world.final("Bye bye.")
    assert world.ended == AGENT_ENDED


def test_a_cough_is_no_objection() -> None:
    world = over(leaving(), "")
    world.fire("go_on")
    world.play_all()
    assert world.ended == AGENT_ENDED


@pytest.mark.parametrize("words", ["Stop.", "Hold on."])
def test_words_that_ask_for_nothing_end_no_call(words: str) -> None:
    world = begun(tools=TOOLS, phrases=Phrases(stopped=""))
    world.say(words)
    world.call_tool(END)
    world.generated()
    world.answer("Yes?")
    world.play_all()
    assert world.ended == ""


def test_a_question_to_confirm_keeps_the_call() -> None:
    world = begun(tools=TOOLS)
    world.say("Pay, and that's all.")
    world.call_tool(END)
    world.call_tool("pay")
    world.generated()
    world.play_all()
    assert world.ended == ""
    assert world.assistant_texts()[-1] == "Shall I pay?"


def test_the_result_of_another_tool_is_told_first() -> None:
    world = begun(tools=TOOLS)
    world.say("Book it, and that's all.")
    world.call_tool("book")
    world.call_tool(END)
    world.generated()
    assert world.ended == ""
    world.finish_tool()
    world.answer("It is booked. Goodbye.")
    world.play_all()
    assert world.ended == AGENT_ENDED
    assert world.assistant_texts()[-1] == "It is booked. Goodbye."


def test_a_speculative_reply_ends_the_call_once_its_turn_is_committed() -> None:
    world = begun(tools=TOOLS)
    world.speech()
    world.pause_with("That is all for today.")
    world.silence()
    world.text(GOODBYE)
    world.call_tool(END)
    world.generated()
    world.play_all()
    assert world.ended == ""
    world.endpoint()
    world.play_all()
    assert world.ended == AGENT_ENDED


def test_a_client_that_cancels_the_goodbye_keeps_the_call() -> None:
    world = leaving()
    world.frames(10)
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.settle()
    assert world.ended == ""


def test_the_operator_ends_an_idle_call_with_a_goodbye() -> None:
    world = begun()
    world.feed(ev.EndRequested(world.now_ms, "closing time"))
    assert world.ended == ""
    world.play_all()
    assert (world.ended, end_of(world).detail) == (AGENT_ENDED, "closing time")
    assert world.assistant_texts() == [ENGLISH.sayings.farewell]


def test_the_operator_does_not_end_a_call_in_the_middle_of_a_reply() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.feed(ev.EndRequested(world.now_ms))
    world.play_all()
    assert world.ended == AGENT_ENDED
    assert world.assistant_texts() == ["Once upon a time there was a fox."]


def end_wanted(world: World) -> World:
    world.feed(ev.EndRequested(world.now_ms, "closing time"))
    assert world.ended == ""
    return world


def ends_with(world: World, *texts: str) -> None:
    """The call ends for the operator's reason, and these are the last things that the agent said."""
    for _ in texts:
        world.play_all()
    assert (world.ended, end_of(world).detail) == (AGENT_ENDED, "closing time")
    assert world.assistant_texts()[-len(texts) :] == list(texts)


FAREWELL = ENGLISH.sayings.farewell


@pytest.mark.parametrize("paused", [False, True])
def test_a_cough_while_the_operator_ends_the_call_takes_no_goodbye_away(paused: bool) -> None:
    world = begun()
    world.speech()
    if paused:
        world.pause_with("")
        end_wanted(world)
    else:
        end_wanted(world)
        world.pause_with("")
    world.endpoint()
    world.final("")
    ends_with(world, FAREWELL)


def test_words_that_are_awaited_when_the_operator_ends_the_call_are_answered_first() -> None:
    world = begun()
    world.speech()
    world.endpoint()
    end_wanted(world)
    world.final("When do you open tomorrow?")
    world.answer("At nine.")
    ends_with(world, "At nine.")


def test_what_the_caller_is_saying_when_the_operator_ends_the_call_is_no_objection() -> None:
    world = begun()
    world.speech()
    world.partial("When do you")
    end_wanted(world)
    world.pause_with("When do you open tomorrow?")
    world.silence()
    world.answer("At nine.")  # in the pause
    world.endpoint()
    ends_with(world, "At nine.")


def test_an_objection_to_the_operators_goodbye_keeps_the_call() -> None:
    world = begun(manners=EAGER, phrases=Phrases(farewell=GOODBYE))
    world.speech()
    end_wanted(world)
    world.endpoint()
    world.final("")
    world.synthesise_all()
    over(world, "Wait, one more thing.")
    world.answer("Yes?")
    world.play_all()
    assert world.ended == ""


def test_a_goodbye_follows_a_line_that_is_no_answer() -> None:
    world = World(Rules(language="en", phrases=Phrases(greeting=RULES)))
    world.begin()
    world.synthesise_all()
    end_wanted(world)
    ends_with(world, RULES, FAREWELL)


def test_the_operator_ends_a_call_whose_reply_settles() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(20)
    world.feed(ev.ReplyCancelled(world.now_ms))
    end_wanted(world)
    world.settle()
    ends_with(world, FAREWELL)


def test_the_operator_ends_a_call_in_which_a_tool_runs() -> None:
    world = running(ToolRule("external"))
    end_wanted(world)
    world.finish_tool()
    world.answer("I found two.")
    ends_with(world, "I found two.")


def test_the_operator_ends_a_call_whose_tool_runs_on_without_its_reply() -> None:
    world = running(ToolRule("external"))
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.settle()
    end_wanted(world)
    world.finish_tool()
    world.answer("I found two.")
    ends_with(world, "I found two.")


@pytest.mark.parametrize("said", [False, True])
def test_a_caller_who_is_being_transferred_hears_a_goodbye_only_if_nobody_takes_the_call(said: bool) -> None:
    world = World(Rules(language="en", transfers=True))
    world.begin()
    world.feed(ev.PersonRequested(world.now_ms))
    world.settle()
    if said:
        world.play_all()
    end_wanted(world)
    world.play_all()
    assert world.ended == ""
    assert any(isinstance(action, act.Transfer) for action in world.actions)
    world.feed(ev.TransferFailed(world.now_ms))
    ends_with(world, ENGLISH.sayings.transfer_failed, FAREWELL)


# --- lines that are said to their end ---------------------------------------------------------------------------------


def protected() -> World:
    world = begun(phrases=Phrases(greeting=RULES, protected=("greeting",)))
    world.synthesise_all()
    return world


def test_a_protected_greeting_is_said_once_to_its_end_and_what_the_caller_says_is_answered_after_it() -> None:
    world = over(protected(), "Hello, I want a table for two.")
    assert not world.generations
    world.play_all()
    assert [(ending.status, ending.heard) for ending in world.endings()] == [("completed", RULES)]
    assert world.generations[-1].messages[-1].content == "Hello, I want a table for two."
    world.answer("For when?")
    world.play_all()
    assert world.assistant_texts() == [RULES, "For when?"]


def test_a_protected_line_is_not_softened_or_paused() -> None:
    world = protected()
    world.frames(20)
    world.speech()
    world.overlap(900.0)
    world.partial("I want to say")
    assert not any(isinstance(action, act.PauseReply | act.Attenuate) for action in world.actions)


@pytest.mark.parametrize("words", ["", "Okay.", "Mm-hm."])
def test_a_backchannel_over_a_protected_line_is_not_answered(words: str) -> None:
    world = over(protected(), words)
    world.play_all()
    assert not world.generations
    assert world.endings()[0].heard == RULES


def test_a_client_neither_cancels_nor_cuts_a_protected_line() -> None:
    world = protected()
    world.frames(20)
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.feed(ev.ReplyTruncated(world.now_ms, 1, 100.0))
    world.feed(ev.TextReceived(world.now_ms, "Hello?"))
    world.feed(ev.ReplyRequested(world.now_ms, ReplyWish()))
    assert not world.generations
    world.play_all()
    assert world.endings()[0].heard == RULES
    assert world.generations[-1].messages[-1].content == "Hello?"


def test_other_lines_may_be_interrupted() -> None:
    world = begun(phrases=Phrases(greeting=RULES))
    world.synthesise_all()
    over(world, "Hello, I want a table for two.")
    assert world.endings()[0].status == "interrupted"


# --- what a tool asks of its call -------------------------------------------------------------------------------------


def running(rule: ToolRule) -> World:
    world = begun(tools={"look": rule})
    world.say("Look it up.")
    world.call_tool("look")
    world.generated()
    return world


def test_a_line_of_a_running_tool_is_said_in_place_of_a_filler() -> None:
    world = running(ToolRule("external"))
    run = world.tools[0]
    world.feed(ev.ProgressMade(world.now_ms, run.reply_id, run.call_id, "I found the first one."))
    world.play_all()
    world.fire("filler")
    world.play_all()
    world.finish_tool()
    world.answer("There are two.")
    world.play_all()
    assert world.endings()[-1].heard == "I found the first one. There are two."


def test_a_line_of_a_tool_that_nobody_waits_for_is_left_out() -> None:
    world = running(ToolRule("external"))
    run = world.tools[0]
    world.say("Something else.")
    world.settle()
    world.feed(ev.ProgressMade(world.now_ms, run.reply_id, run.call_id, "I found the first one."))
    assert not any(speak.text == "I found the first one." for speak in world.to_speak)


def test_a_tool_transfers_the_caller_after_its_reply() -> None:
    world = running(ToolRule("external"))
    world.feed(ev.TransferRequested(world.now_ms, "desk"))
    world.finish_tool()
    world.answer("I connect you.")
    assert not any(isinstance(action, act.Transfer) for action in world.actions)
    world.play_all()
    assert [action.to for action in world.actions if isinstance(action, act.Transfer)] == ["desk"]


def test_what_tools_keep_stands_in_the_state() -> None:
    world = begun()
    world.feed(ev.CallStateKept(world.now_ms, '{"order": 5}'))
    assert world.state.kept == '{"order": 5}'
