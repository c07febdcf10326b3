"""What a client changes: what the language model reads, who begins a reply, what may stop one, replies with settings of their
own."""

from __future__ import annotations

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import EndpointingRules, Limits, ReplyRules, ReplyWish, TurnRules
from voiceagent.conversation.state import Phase


def add(world: World, role: str, text: str, key: str, behind: str | None = None) -> None:
    message = Message("user" if role == "user" else "system" if role == "system" else "assistant", text)
    world.feed(ev.HistoryAdded(world.now_ms, message, key, behind))


def write(world: World, text: str, key: str) -> None:
    world.feed(ev.TextReceived(world.now_ms, text, key=key))


def ask(world: World, wish: ReplyWish | None = None) -> None:
    world.feed(ev.ReplyRequested(world.now_ms, wish or ReplyWish()))


def prompt(world: World) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in world.generations[-1].messages]


def test_a_conversation_before_the_call_is_read_in_its_order() -> None:
    world = begun(instructions="Be brief.")
    write(world, "My name is Ann.", "i1")
    add(world, "assistant", "Hello Ann.", "i2")
    write(world, "What is my name?", "i3")
    ask(world)
    assert prompt(world) == [
        ("system", "Be brief."),
        ("user", "My name is Ann."),
        ("assistant", "Hello Ann."),
        ("user", "What is my name?"),
    ]


def test_a_message_goes_where_the_client_puts_it() -> None:
    world = begun()
    add(world, "user", "Two.", "i2")
    add(world, "user", "Four.", "i4")
    add(world, "assistant", "Three.", "i3", behind="i2")
    add(world, "assistant", "One.", "i1", behind="")
    ask(world)
    assert [text for _, text in prompt(world)] == ["One.", "Two.", "Three.", "Four."]


def test_a_line_for_the_agent_joins_its_instructions() -> None:
    world = begun(instructions="Be brief.")
    write(world, "Hello.", "i1")
    add(world, "system", "The caller is Ann.", "i2")
    ask(world)
    assert prompt(world) == [("system", "Be brief.\n\nThe caller is Ann."), ("user", "Hello.")]


def test_a_tool_call_before_the_call_is_read_with_its_result() -> None:
    world = begun()
    write(world, "Weather?", "i1")
    call = Message("assistant", "", (ToolCall("c1", "get_weather", "{}"),))
    world.feed(ev.HistoryAdded(world.now_ms, call, "i2"))
    world.feed(ev.HistoryAdded(world.now_ms, Message("tool", '"sunny"', tool_call_id="c1"), "i3"))
    ask(world)
    assert [message.role for message in world.generations[-1].messages] == ["user", "assistant", "tool"]


def test_an_utterance_is_taken_out_and_the_others_of_its_turn_stay() -> None:
    world = begun()
    write(world, "Hello there.", "i1")
    write(world, "My card is 4711.", "i2")
    ask(world)
    world.answer("Hello.")
    world.play_all()
    world.feed(ev.HistoryRemoved(world.now_ms, "i2", "My card is 4711."))
    assert world.user_texts() == ["Hello there."]
    world.feed(ev.HistoryRemoved(world.now_ms, "i1", "Hello there."))
    assert world.user_texts() == []
    assert world.assistant_texts() == ["Hello."]


def test_words_that_were_not_answered_yet_are_taken_back() -> None:
    world = begun()
    write(world, "Hello there.", "i1")
    write(world, "Forget it.", "i2")
    world.feed(ev.HistoryRemoved(world.now_ms, "i2", "Forget it."))
    ask(world)
    assert prompt(world) == [("user", "Hello there.")]


def test_a_reply_is_taken_out() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Good morning.")
    world.play_all()
    world.feed(ev.HistoryRemoved(world.now_ms, "reply 1", "Good morning."))
    assert world.assistant_texts() == []
    assert world.user_texts() == ["Hello."]


def test_a_tool_call_is_taken_out_with_its_result_and_what_was_said_stays() -> None:
    world = begun()
    world.say("Weather?")
    world.feed(ev.ToolCallRequested(world.now_ms, 1, "c1", "get_weather", "{}"))
    world.feed(ev.GenerationDone(world.now_ms, 1))
    world.feed(ev.ToolFinished(world.now_ms, 1, "c1", '"sunny"', True))
    world.answer("It is sunny.")
    world.play_all()
    assert [message.role for message in world.state.memory.history] == ["user", "assistant", "tool", "assistant"]
    world.feed(ev.HistoryRemoved(world.now_ms, "reply 1", "", "c1"))
    assert [(message.role, message.content) for message in world.state.memory.history] == [
        ("user", "Weather?"),
        ("assistant", "It is sunny."),
    ]


def test_a_truncation_of_the_live_reply_ends_it_where_the_client_played_to() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(60)  # six words
    world.feed(ev.ReplyTruncated(world.now_ms, 1, 400.0))
    world.settle()
    assert world.assistant_texts() == ["Once upon"]
    assert [(ending.status, ending.heard) for ending in world.endings()] == [("cancelled", "Once upon")]
    assert world.state.phase is Phase.IDLE


def test_a_truncation_while_the_caller_speaks_is_an_interruption() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(60)
    world.speech()
    world.feed(ev.ReplyTruncated(world.now_ms, 1, 400.0))
    world.settle()
    assert [(ending.status, ending.heard) for ending in world.endings()] == [("interrupted", "Once upon")]
    assert world.state.phase is Phase.HEARING


def test_a_truncation_after_the_reply_corrects_the_history() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.play_all()
    assert world.assistant_texts() == ["Once upon a time there was a fox."]
    actions = world.feed(ev.ReplyTruncated(world.now_ms, 1, 600.0))
    assert world.assistant_texts() == ["Once upon a"]
    assert [action.heard for action in actions if isinstance(action, act.ReplyCorrected)] == ["Once upon a"]


def test_an_edit_cancels_a_speculative_reply_to_the_old_conversation() -> None:
    world = begun()
    world.speech()
    world.pause_with("What time is it?")
    world.silence()
    assert world.state.reply is not None
    add(world, "system", "The caller is Ann.", "i1")
    assert world.state.reply is None


BY_HAND = TurnRules(answers=False, interruptible=False)


def commit(world: World) -> None:
    """The client ends an utterance by hand."""
    world.utterance += 1
    world.feed(ev.UtteranceCommitted(world.now_ms, world.utterance, world.now_ms - 900.0))


# --- who begins a reply -----------------------------------------------------------------------------------------------


def test_without_replies_by_itself_the_agent_waits_until_it_is_asked() -> None:
    world = begun(turns=TurnRules(answers=False))
    world.say("What time is it?")
    assert world.state.phase is Phase.IDLE
    assert not world.generations
    world.say("In Paris.")
    ask(world)
    assert [message.content for message in world.generations[-1].messages] == ["What time is it? In Paris."]


def test_an_utterance_that_the_client_ended_is_answered_when_it_asks_for_that() -> None:
    world = begun(turns=BY_HAND)
    commit(world)
    assert [type(action) for action in world.actions[-2:]] == [act.CallerCommitted, act.Transcribe]
    ask(world)  # before the words are known
    assert world.state.phase is Phase.FINALISING
    assert not world.generations
    world.final("What time is it?")
    assert [message.content for message in world.generations[-1].messages] == ["What time is it?"]
    assert len(world.beginnings()) == 1


def test_a_reply_to_words_that_never_come_is_made_all_the_same() -> None:
    world = begun(turns=BY_HAND, instructions="Be brief.")
    commit(world)
    ask(world)
    world.fire("final")
    assert world.generations


def test_a_reply_that_is_asked_for_while_the_caller_speaks_follows_their_words() -> None:
    world = begun(turns=TurnRules(answers=False))
    world.speech()
    ask(world)
    world.endpoint()
    world.final("What time is it?")
    assert len(world.generations) == 1


def test_the_agent_may_be_asked_to_speak_first() -> None:
    world = begun(instructions="Greet the caller.")
    ask(world)
    assert [message.role for message in world.generations[-1].messages] == ["system"]


def test_with_nothing_to_answer_the_client_is_told() -> None:
    world = begun()
    ask(world)
    assert [failure.code for failure in world.failures()] == ["nothing_to_answer"]


def test_a_cancelled_request_is_not_granted_later() -> None:
    world = begun(turns=BY_HAND)
    commit(world)
    ask(world)
    world.feed(ev.ReplyCancelled(world.now_ms))
    world.final("What time is it?")
    assert not world.generations


def test_an_utterance_that_the_client_forgets_leaves_no_trace() -> None:
    world = begun()
    world.speech()
    actions = world.feed(ev.UtteranceCleared(world.now_ms))
    assert act.DiscardUtterance(1) in actions
    assert world.state.phase is Phase.IDLE


# --- what may stop a reply --------------------------------------------------------------------------------------------


def test_speech_that_may_not_interrupt_is_answered_after_the_reply() -> None:
    world = begun(turns=TurnRules(interruptible=False))
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(30)
    world.speech()
    world.partial("No, stop, something else please")
    world.frames(10)
    world.endpoint()
    world.final("No, stop, something else please.")
    assert not world.endings()
    world.play_all()
    assert [ending.status for ending in world.endings()] == ["completed"]
    assert world.generations[-1].messages[-1].content == "No, stop, something else please."


def test_speech_that_may_not_interrupt_waits_for_a_request_where_replies_do_not_come_by_themselves() -> None:
    world = begun(turns=BY_HAND)
    world.feed(ev.TextReceived(world.now_ms, "Tell me a story."))
    ask(world)
    world.answer("Once upon a time there was a fox.")
    world.synthesise_all()
    world.frames(30)
    commit(world)
    world.final("And then?")
    world.play_all()
    assert [ending.status for ending in world.endings()] == ["completed"]
    assert not world.generations
    ask(world)
    assert world.generations[-1].messages[-1].content == "And then?"


# --- the silence ------------------------------------------------------------------------------------------------------


def test_the_agent_speaks_again_after_the_clients_idle_time() -> None:
    world = begun(limits=Limits(silence_timeout_ms=30_000.0))
    world.feed(ev.SettingsChanged(world.now_ms, turns=TurnRules(idle_ms=5000.0)))
    world.say("Hello.")
    world.answer("Good morning.")
    world.play_all()
    over_ms = world.now_ms
    assert world.timers["silence"] == over_ms + 5000.0
    world.fire("silence")
    assert [action for action in world.actions if isinstance(action, act.CallerIdle)] == [act.CallerIdle(over_ms)]
    world.play_all()
    assert world.timers["silence"] == world.now_ms + 30_000.0, "it asks once"


# --- replies with settings of their own -------------------------------------------------------------------------------


def test_a_written_reply_is_not_spoken() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Hello."))
    ask(world, ReplyWish("w1", rules=ReplyRules(text_only=True)))
    world.answer("Good morning. How are you?")
    assert not world.to_speak
    (begun_reply,) = world.beginnings()
    assert (begun_reply.key, begun_reply.text_only) == ("w1", True)
    assert [(ending.status, ending.heard) for ending in world.endings()] == [("completed", "Good morning. How are you?")]
    assert world.assistant_texts() == ["Good morning. How are you?"]
    assert world.state.phase is Phase.IDLE


def test_a_forced_call_begins_a_reply_and_its_result_is_told_freely() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Hello."))
    ask(world, ReplyWish("w1", rules=ReplyRules(must_call="get_time")))
    assert world.generations[-1].rules == ReplyRules(must_call="get_time")
    reply_id = world.generations[-1].reply_id
    world.feed(ev.ToolCallRequested(world.now_ms, reply_id, "c1", "get_time", "{}"))
    world.feed(ev.GenerationDone(world.now_ms, reply_id))
    world.feed(ev.ToolFinished(world.now_ms, reply_id, "c1", '{"time": "noon"}', True))
    assert len(world.generations) == 2
    assert world.generations[-1].rules is None


def test_the_tokens_of_a_reply_are_those_that_were_counted_and_estimated_where_none_were() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, "Hello."))
    ask(world, ReplyWish("w1", rules=ReplyRules(text_only=True)))
    reply_id = world.generations[-1].reply_id
    world.feed(ev.ToolCallRequested(world.now_ms, reply_id, "c1", "get_time", "{}"))
    world.feed(ev.GenerationDone(world.now_ms, reply_id, False, 100, 20, 0))
    world.feed(ev.ToolFinished(world.now_ms, reply_id, "c1", '{"time": "noon"}', True))
    world.feed(ev.TextDelta(world.now_ms, reply_id, "It is noon.", 4))
    world.feed(ev.GenerationDone(world.now_ms, reply_id, False, 130, 5, 110))
    (counted,) = [action for action in world.actions if isinstance(action, act.ReplyCounted)]
    assert counted == act.ReplyCounted(reply_id, 230, 25, 110)
    ask(world, ReplyWish("w2", rules=ReplyRules(text_only=True)))
    reply_id = world.generations[-1].reply_id
    world.feed(ev.TextDelta(world.now_ms, reply_id, "Good day.", 3))
    world.feed(ev.GenerationDone(world.now_ms, reply_id))
    estimated = [action for action in world.actions if isinstance(action, act.ReplyCounted)][-1]
    assert (estimated.tokens, estimated.cached_tokens) == (3, None)
    assert estimated.prompt_tokens > 0


def test_a_detached_reply_reads_the_conversation_and_leaves_no_trace_in_it() -> None:
    world = begun(instructions="Be brief.")
    world.say("My name is Ann.")
    world.answer("Hello Ann.")
    world.play_all()
    before = world.state.memory.history
    ask(world, ReplyWish("w1", "Sum it up.", ReplyRules(text_only=True, uses_tools=False), is_detached=True))
    assert [message.content for message in world.generations[-1].messages] == ["Sum it up.", "My name is Ann.", "Hello Ann."]
    assert world.generations[-1].rules == ReplyRules(text_only=True, uses_tools=False)
    world.answer("Ann said hello.")
    assert world.state.memory.history == before
    assert world.beginnings()[-1].is_detached


def test_a_reply_may_answer_other_messages_than_the_conversation() -> None:
    world = begun(instructions="Be brief.")
    world.say("My name is Ann.")
    world.answer("Hello Ann.")
    world.play_all()
    ask(world, ReplyWish("w1", input=(Message("user", "Is it late?"),), is_detached=True))
    assert [message.content for message in world.generations[-1].messages] == ["Be brief.", "Is it late?"]


def test_a_reply_that_reaches_its_limit_of_tokens_is_incomplete() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.text("Once upon a time")
    world.feed(ev.GenerationDone(world.now_ms, 1, cut_short=True))
    world.play_all()
    assert [(ending.status, ending.heard) for ending in world.endings()] == [("incomplete", "Once upon a time")]


def test_the_tokens_of_a_reply_are_counted() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Good morning.")
    world.play_all()
    (counted,) = [action for action in world.actions if isinstance(action, act.ReplyCounted)]
    assert counted.tokens == 1
    assert counted.prompt_tokens > 0


def test_other_endpointing_holds_from_the_next_pause_on() -> None:
    world = begun()
    world.feed(ev.SettingsChanged(world.now_ms, endpointing=EndpointingRules(max_delay_ms=700.0)))
    world.speech()
    world.pause_with("And")
    assert world.endpoint_ms() == 700.0
