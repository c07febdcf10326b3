"""The client adds, removes and truncates what the language model reads."""

from __future__ import annotations

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.state import Phase


def add(world: World, role: str, text: str, key: str, behind: str | None = None) -> None:
    message = Message("user" if role == "user" else "system" if role == "system" else "assistant", text)
    world.feed(ev.HistoryAdded(world.now_ms, message, key, behind))


def write(world: World, text: str, key: str) -> None:
    world.feed(ev.TextReceived(world.now_ms, text, key=key))


def prompt(world: World) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in world.generations[-1].messages]


def ask(world: World) -> None:
    world.feed(ev.ReplyRequested(world.now_ms))


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
