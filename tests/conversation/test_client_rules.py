"""What the client may change of turns and replies: who begins one, what may stop one, replies with settings of their own."""

from __future__ import annotations

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import EndpointingRules, Limits, ReplyRules, ReplyWish, TurnRules
from voiceagent.conversation.state import Phase

BY_HAND = TurnRules(answers=False, interruptible=False)


def ask(world: World, wish: ReplyWish | None = None) -> None:
    world.feed(ev.ReplyRequested(world.now_ms, wish or ReplyWish()))


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
