"""The turn engine, turn by turn, in virtual time."""

from __future__ import annotations

from types import ModuleType
from typing import get_args

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.machine import TABLE, Row
from voiceagent.conversation.rules import Limits, Phrases, Rules, SpeculationRules, ToolRule
from voiceagent.conversation.state import Phase


def test_a_turn_is_heard_answered_and_remembered() -> None:
    world = begun(instructions="Be brief.")
    world.say("What time is it?")
    prompt = [(m.role, m.content) for m in world.generations[-1].messages]
    assert prompt == [("system", "Be brief."), ("user", "What time is it?")]
    world.answer("It is noon. Anything else?")
    world.play_all()
    assert world.assistant_texts() == ["It is noon. Anything else?"]
    assert world.state.phase is Phase.IDLE
    assert [ending.status for ending in world.endings()] == ["completed"]


def test_the_first_clause_is_spoken_before_the_reply_is_complete() -> None:
    world = begun()
    world.say("Hello.")
    world.text("Well then, let me ")
    assert [speak.text for speak in world.to_speak] == ["Well then,"]


def test_the_greeting_is_said_without_the_language_model() -> None:
    world = begun(phrases=Phrases(greeting="Hello, how can I help you?"))
    assert not world.generations
    world.play_all()
    assert world.assistant_texts() == ["Hello, how can I help you?"]


def speaking(words: int, reply: str = "Once upon a time there was a fox.") -> World:
    """A call in which so many words of a reply were heard."""
    world = begun()
    world.say("Tell me a story.")
    world.answer(reply)
    world.synthesise_all()
    world.frames(words * 10)
    return world


def test_a_barge_in_drops_the_rest_of_the_reply() -> None:
    world = speaking(3)
    world.frames(5)
    world.speech()
    assert world.playout.paused == {1}
    world.partial("Stop")
    assert list(world.drops) == [1]
    assert not world.playout.queue
    world.settle()
    world.endpoint()
    world.final("Stop.")
    ending = world.endings()[0]
    assert (ending.status, ending.heard, ending.unheard) == ("interrupted", "Once upon a", "time there was a fox.")
    assert world.assistant_texts() == ["Once upon a"]
    assert world.user_texts() == ["Tell me a story.", "Stop."]


def test_the_next_prompt_waits_for_what_was_heard() -> None:
    world = speaking(1)
    world.say("Louder.")
    assert not world.generations
    world.settle()
    assert [m.content for m in world.generations[-1].messages] == ["Tell me a story.", "Once", "Louder."]


def test_speech_before_the_reply_was_heard_continues_the_same_request() -> None:
    world = begun()
    world.say("Book a table")
    world.text("For how many")
    world.speech()
    world.endpoint()
    world.final("for four.")
    world.settle()
    assert world.user_texts() == ["Book a table for four."]


@pytest.mark.parametrize("words", ["Tomorrow.", "Okay.", "For how many"])
def test_whatever_is_added_while_the_agent_only_thinks_joins_the_turn(words: str) -> None:
    world = begun()
    world.say("What's the weather in Paris?")
    world.text("For how many days")
    world.speech()
    world.pause_with(words)
    world.endpoint()
    world.settle()
    assert world.generations[-1].messages[-1].content == f"What's the weather in Paris? {words}"


def test_words_that_join_a_turn_whose_tool_did_nothing_join_its_message_too() -> None:
    world = begun(tools={"find": ToolRule("none"), "book": ToolRule("external")})
    world.say("Find a table")
    world.call_tool("find")
    world.speech()
    world.pause_with("in Paris.")
    world.endpoint()
    world.settle()
    assert [message.content for message in world.generations[-1].messages] == ["Find a table in Paris."]


def test_words_after_a_tool_with_an_effect_are_a_message_of_their_own() -> None:
    world = begun(tools={"find": ToolRule("none"), "book": ToolRule("external")})
    world.say("Book a table")
    world.call_tool("book")
    world.speech()
    world.pause_with("in Paris.")
    world.endpoint()
    world.settle()
    assert [m.content for m in world.generations[-1].messages if m.role == "user"] == ["Book a table", "in Paris."]


# --- speech over the agent's ---


@pytest.mark.parametrize("words", ["", "Mm-hm.", "Okay.", "yeah right", "Once upon a"])
def test_what_does_not_take_the_floor_leaves_the_reply_where_it_was_held(words: str) -> None:
    world = speaking(3)
    sent_ms = world.playout.queue[0].sent_ms
    world.speech()
    world.frames(10)
    assert world.playout.queue[0].sent_ms == sent_ms
    world.pause_with(words)
    world.fire("go_on")
    assert not world.playout.paused
    assert world.state.phase is Phase.SPEAKING
    world.play_all()
    assert world.assistant_texts() == ["Once upon a time there was a fox."]
    assert world.user_texts() == ["Tell me a story."]
    assert [ending.status for ending in world.endings()] == ["completed"]


@pytest.mark.parametrize("words", ["Stop.", "No", "what about Berlin", "wait wait"])
def test_words_of_their_own_take_the_floor(words: str) -> None:
    world = speaking(3)
    world.speech()
    world.now_ms += 400
    world.partial(words)
    assert list(world.drops) == [1]


def test_a_word_found_in_little_speech_is_not_believed_yet() -> None:
    world = speaking(3)
    world.speech()
    world.partial("tomorrow")
    assert not world.drops
    world.pause_with("")
    world.fire("go_on")
    assert not world.playout.paused


def test_a_yes_to_the_question_that_is_being_asked_answers_it() -> None:
    world = speaking(3, "Shall I book the table for you?")
    world.speech()
    world.pause_with("Yes.")
    assert list(world.drops) == [1]
    world.settle()
    world.endpoint()
    assert world.user_texts()[-1] == "Yes."


def test_a_yes_long_before_the_question_is_asked_is_a_backchannel() -> None:
    world = speaking(3, "Your table is booked for Friday. Shall I send you a message?")
    world.speech()
    world.pause_with("Yes.")
    assert not world.drops
    world.fire("go_on")
    assert not world.playout.paused


def test_engines_under_load_still_decode_a_pause() -> None:
    world = speaking(3)
    world.speech()
    world.pause(load=1.0)
    assert world.finals
    world.final("Mm-hm.")
    world.fire("go_on")
    assert not world.playout.paused
    assert not world.finals


def test_speech_that_nobody_understands_takes_the_floor_after_a_while() -> None:
    world = speaking(3)
    world.speech()
    world.partial("")
    world.fire("overlap")
    assert list(world.drops) == [1]


def test_a_reply_in_the_making_goes_on_after_a_noise() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.text("Once upon ")
    world.speech()
    world.text("a time.")
    world.generated()
    world.pause_with("")
    assert world.state.phase is Phase.THINKING
    world.play_all()
    assert world.assistant_texts() == ["Once upon a time."]


# --- speculative replies ---


def test_a_speculative_reply_that_holds_is_on_the_line_with_the_commit() -> None:
    world = begun()
    world.speech()
    world.pause_with("What time is it?")
    world.silence()
    world.answer("It is noon.")
    world.synthesise_all()
    world.frames(5)
    assert not world.beginnings()
    assert world.state.memory.history == ()
    world.endpoint()
    assert len(world.actions) - world.actions.index(act.ResumeReply(1)) <= 2
    world.frame()
    assert world.state.phase is Phase.SPEAKING
    world.play_all()
    assert (world.user_texts(), world.assistant_texts()) == (["What time is it?"], ["It is noon."])
    assert act.SpeculationEnded(1, "kept", 1) in world.actions
    assert not world.generations


def test_a_speculative_reply_leaves_no_trace_when_the_caller_speaks_on() -> None:
    world = begun()
    world.speech()
    world.pause_with("Book a table")
    world.silence()
    world.answer("For how many people?")
    world.resume()
    world.settle()
    assert act.SpeculationEnded(1, "resumed", 1) in world.actions
    world.pause_with("Book a table for four.")
    world.endpoint()
    assert [m.content for m in world.generations[-1].messages] == ["Book a table for four."]
    assert [notice.reply_id for notice in world.beginnings()] == [world.generations[-1].reply_id]


def test_other_words_than_the_speculative_reply_answered_cancel_it() -> None:
    world = begun()
    world.speech()
    world.pause_with("What time is it?")
    world.silence()
    world.feed(ev.TextReceived(world.now_ms, "In Paris."))
    world.endpoint()
    assert [action.outcome for action in world.actions if isinstance(action, act.SpeculationEnded)] == ["changed"]
    world.settle()
    assert world.user_texts() == ["In Paris. What time is it?"]


def test_the_tools_of_a_speculative_reply_wait_for_the_commit() -> None:
    world = begun()
    world.speech()
    world.pause_with("Book it.")
    world.silence()
    world.call_tool()
    world.generated()
    assert not world.tools
    world.endpoint()
    assert [run.name for run in world.tools] == ["book"]
    world.finish_tool()
    world.answer("Booked.")
    world.play_all()
    assert world.assistant_texts() == ["Booked."]


def test_a_speculative_reply_that_fails_is_made_again_when_the_turn_is_committed() -> None:
    world = begun()
    world.speech()
    world.pause_with("Hello.")
    world.silence()
    world.fail()
    world.settle()
    assert not world.failures()
    world.endpoint()
    world.answer("Hi.")
    world.play_all()
    assert world.assistant_texts() == ["Hi."]


def test_only_the_first_clause_of_a_speculative_reply_is_synthesised() -> None:
    world = begun()
    world.speech()
    world.pause_with("Hello.")
    world.silence()
    world.answer("Hi there. How are you? Well.")
    assert [speak.text for speak in world.to_speak] == ["Hi there."]
    world.endpoint()
    assert [speak.text for speak in world.to_speak] == ["Hi there.", "How are you?", "Well."]


def test_a_turn_has_a_budget_of_speculative_replies() -> None:
    world = begun(speculation=SpeculationRules(max_replies=2))
    world.speech()
    for number in range(4):
        world.pause_with("Book a table" + " and" * number)
        world.silence()
        world.resume()
        world.settle()
    assert len(world.generations) == 2


def test_nothing_is_speculated_under_load() -> None:
    world = begun()
    world.speech()
    world.pause(load=1.0)
    world.final("Hello.")
    world.silence()
    assert not world.generations
    world.endpoint()
    assert world.generations


def test_stable_words_are_read_ahead() -> None:
    world = begun(instructions="Be brief.")
    world.speech()
    world.partial("what is")
    prefills = [action for action in world.actions if isinstance(action, act.Prefill)]
    assert [[m.content for m in prefill.messages] for prefill in prefills] == [["Be brief."], ["Be brief.", "what is"]]


def test_what_is_known_is_read_when_the_call_begins_and_after_each_reply() -> None:
    world = begun(instructions="Be brief.", phrases=Phrases(greeting="Hello, how can I help you?"))
    first = next(action for action in world.actions if isinstance(action, act.Prefill))
    assert [m.content for m in first.messages] == ["Be brief."]
    world.play_all()
    world.say("What is the time?")
    world.answer("It is noon.")
    world.play_all()
    last = [action for action in world.actions if isinstance(action, act.Prefill)][-1]
    assert [m.content for m in last.messages] == ["Be brief.", "Hello, how can I help you?", "What is the time?", "It is noon."]


# --- failures, timers ---


def test_a_failed_generation_is_apologised_for() -> None:
    world = begun(phrases=Phrases(apology="Sorry."))
    world.say("Hello.")
    world.fail()
    world.play_all()
    assert world.assistant_texts() == ["Sorry."]
    assert world.failures()[0].message == "broken"


def test_a_model_that_says_nothing_in_time_is_given_up() -> None:
    world = begun(phrases=Phrases(apology="Sorry."))
    world.say("Hello.")
    world.fire("reply")
    world.settle()
    world.play_all()
    assert world.assistant_texts() == ["Sorry."]


def test_a_missing_final_transcript_falls_back_to_the_partial() -> None:
    world = begun()
    world.speech()
    world.feed(ev.Transcript(world.now_ms, 1, "what time", "is"))
    world.endpoint()
    world.fire("final")
    assert world.user_texts() == ["what time is"]


def test_a_silent_caller_is_asked_once_and_then_the_call_ends() -> None:
    world = begun(limits=Limits(silence_timeout_ms=1000.0), phrases=Phrases(check_in="Hello?", farewell="Goodbye."))
    world.fire("silence")
    world.play_all()
    world.fire("silence")
    world.play_all()
    assert world.assistant_texts() == ["Hello?", "Goodbye."]
    assert world.actions[-1] == act.End("silence")
    assert not world.timers


def test_a_reply_that_is_asked_for_during_the_farewell_is_said_and_the_call_goes_on() -> None:
    world = begun(limits=Limits(silence_timeout_ms=1000.0), phrases=Phrases(check_in="", farewell="Goodbye for now, then."))
    world.fire("silence")
    world.synthesise_all()
    world.frames(10)
    world.feed(ev.TextReceived(world.now_ms, "Wait, I am here."))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.settle()
    world.answer("I am here.")
    world.play_all()
    assert world.assistant_texts()[-1] == "I am here."
    assert world.state.phase is Phase.IDLE
    assert "silence" in world.timers, "and the silence is waited for anew"


def test_typed_text_is_answered_on_request() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Hello."))
    assert not world.generations
    world.feed(ev.ReplyRequested(world.now_ms))
    assert world.user_texts() == ["Hello."]


def test_a_cancelled_reply_leaves_the_caller_the_floor() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Hi there, my friend.")
    world.synthesise_all()
    world.frames(10)
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.settle()
    assert world.state.phase is Phase.IDLE
    assert world.assistant_texts() == ["Hi"]


def test_last_words_are_said_in_place_of_all_else_and_end_the_call() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Hi there, my friend.")
    world.synthesise_all()
    world.frames(10)
    world.feed(ev.LastWords(world.now_ms, "Please call us back.", "left"))
    world.settle()
    world.play_all()
    assert world.assistant_texts() == ["Hi", "Please call us back."]
    assert world.actions[-1] == act.End("left")
    assert not world.timers


def test_last_words_are_said_though_an_utterance_is_open() -> None:
    world = begun()
    world.speech()
    world.feed(ev.LastWords(world.now_ms, "Please call us back.", "left"))
    world.play_all()
    assert world.actions[-1] == act.End("left")


def test_a_hang_up_ends_the_reply_and_clears_every_timer() -> None:
    world = begun(phrases=Phrases(greeting="Hello."))
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    world.settle()
    assert world.state.phase is Phase.ENDED
    assert not world.timers
    assert len(world.endings()) == 1


def test_a_decode_that_hangs_while_the_caller_goes_on_is_waited_for_no_longer_than_its_timer_says() -> None:
    """Its timer is used up in the next utterance, whose words are known before it ends."""
    world = begun()
    world.speech()
    world.partial("My number is")
    world.endpoint()
    hung = world.finals.pop()
    world.speech()
    world.fire("final")
    world.pause_with("four two.")
    world.endpoint()
    world.fire("final")
    world.answer("Thanks.")
    world.play_all()
    assert world.user_texts() == ["four two."]
    assert world.assistant_texts() == ["Thanks."]
    told = [action for action in world.actions if isinstance(action, act.CallerFinal)]
    assert [(final.utterance_id, final.text) for final in told] == [(hung + 1, "four two."), (hung, "")]


def test_late_events_of_another_reply_change_nothing() -> None:
    world = begun()
    world.say("Hello.")
    before = world.state
    for event in (
        ev.TextDelta(0, 9, "no"),
        ev.Played(0, 9, 0, 20),
        ev.ClauseAudio(0, 9, 0, 100, ()),
        ev.ToolFinished(0, 9, "x", "{}", True),
        ev.PlayoutStopped(0, 9, 0, 20),
        ev.FinalTranscript(0, 9, "no"),
        ev.TimerFired(0, "nothing"),
    ):
        assert world.feed(event) == ()
        assert world.state == before


# --- the table ---


def kinds(module: ModuleType, base: type) -> set[type]:
    return {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, base) and one is not base}


def test_every_kind_of_event_has_a_row() -> None:
    assert set(TABLE) == kinds(ev, ev.Event)


def test_an_event_out_of_phase_changes_nothing_and_is_known_to_be_one() -> None:
    state, late = machine.start(Rules()), ev.Played(0.0, 1, 0, 20.0)
    assert machine.is_in_phase(state, ev.CallStarted(0.0))
    assert not machine.is_in_phase(state, late)
    assert machine.step(state, late) == (state, ())


def test_every_kind_of_action_is_one_that_is_carried_out() -> None:
    assert set(get_args(act.AnyAction)) == kinds(act, act.Action) - kinds(act, act.Notice)


def test_a_phase_that_the_table_does_not_allow_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(frozenset({Phase.NEW}), lambda step, event: step.put(phase=Phase.SPEAKING), frozenset({Phase.IDLE}))
    monkeypatch.setattr(machine, "TABLE", {ev.CallStarted: row})
    with pytest.raises(AssertionError, match=r"CallStarted took the call from Phase\.NEW to Phase\.SPEAKING"):
        machine.step(machine.start(Rules()), ev.CallStarted(0.0))
