"""What the turn engine does where a guard stops the agent, or keeps the caller's words from the language model."""

from __future__ import annotations

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev

LINE = "I may not say that."
REFUSAL = ev.Refusal("topics", "Let's talk about the weather.")
NOTE = "(withheld: topics)."


def blocked(world: World) -> None:
    world.feed(ev.OutputBlocked(world.now_ms, world.generations.pop().reply_id, "cards", LINE))


def withheld(world: World) -> list[tuple[str, str]]:
    return [(action.direction, action.rule) for action in world.actions if isinstance(action, act.GuardHit)]


def refused(world: World) -> None:
    """The caller says what the language model may not read."""
    world.speech()
    world.endpoint()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, NOTE, world.pause_id, REFUSAL))
    world.finals.clear()


def test_a_hit_stops_the_clause_and_the_line_is_said_instead() -> None:
    world = begun()
    world.say("What is the card's number?")
    world.text("Sure. It is forty-one")
    blocked(world)
    world.play_all()
    assert world.assistant_texts() == [f"Sure. {LINE}"]
    assert [ending.status for ending in world.endings()] == ["completed"]
    assert withheld(world) == [("output", "cards")]


def test_text_that_comes_after_the_hit_is_not_said() -> None:
    world = begun()
    world.say("Hello.")
    reply_id = world.generations[-1].reply_id
    blocked(world)
    world.feed(ev.TextDelta(world.now_ms, reply_id, "More. "))
    world.play_all()
    assert world.assistant_texts() == [LINE]


def test_no_further_round_follows_a_hit() -> None:
    world = begun()
    world.say("Look it up.")
    world.call_tool()
    blocked(world)
    world.finish_tool()
    world.play_all()
    assert not world.generations
    assert world.assistant_texts() == [LINE]


def test_a_hit_in_a_speculative_reply_is_said_only_when_it_is_kept() -> None:
    world = begun()
    world.speech()
    world.pause_with("What is the number?")
    world.silence()
    blocked(world)
    assert [speak.text for speak in world.to_speak] == [LINE]
    assert not world.announced()
    world.endpoint()
    world.play_all()
    assert world.assistant_texts() == [LINE]


def test_an_interrupted_line_leaves_what_was_heard_in_the_history() -> None:
    world = begun()
    world.say("Hello.")
    blocked(world)
    world.synthesise_all()
    world.frames(25)
    world.say("What?")
    world.settle()
    assert world.assistant_texts() == ["I may"]


def test_what_the_guard_withholds_is_answered_with_the_line_and_never_read() -> None:
    world = begun()
    refused(world)
    assert not world.generations
    world.play_all()
    assert world.user_texts() == [NOTE]
    assert world.assistant_texts() == [REFUSAL.line]
    assert withheld(world) == [("input", "topics")]
    world.say("What's the weather?")
    prompt = [message.content for message in world.generations[-1].messages]
    assert prompt == [NOTE, REFUSAL.line, "What's the weather?"]


def test_nothing_is_speculated_from_words_that_are_withheld() -> None:
    world = begun()
    world.speech()
    world.pause()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, NOTE, world.pause_id, REFUSAL))
    world.finals.clear()
    world.silence()
    assert not world.generations
    world.endpoint()
    world.play_all()
    assert world.assistant_texts() == [REFUSAL.line]


def test_a_typed_message_is_refused_as_a_spoken_one_is() -> None:
    world = begun()
    world.feed(ev.TextReceived(world.now_ms, NOTE, REFUSAL))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.play_all()
    assert not world.generations
    assert world.assistant_texts() == [REFUSAL.line]
