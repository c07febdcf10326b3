"""The wait for the language model in virtual time: thoughts, fillers, and sentences behind which no text comes."""

from __future__ import annotations

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import events as ev
from voiceagent.conversation.clauses import end_wait_ms
from voiceagent.conversation.reply_lifecycle import BRIDGE, RELEASE, REPLY, THINKING
from voiceagent.conversation.rules import Limits, Phrases, ToolRule
from voiceagent.conversation.tool_runs import LOOK_AGAIN_MS
from voiceagent.turn_taking.languages.en import ENGLISH

FILLERS = ("One moment.", "Just a second.")


def asked() -> World:
    world = begun(phrases=Phrases(fillers=FILLERS, apology="Sorry."))
    world.say("What time is it?")
    return world


def thinks(world: World) -> None:
    assert world.state.reply is not None
    world.feed(ev.ThoughtGenerated(world.now_ms, world.state.reply.reply_id, 20))


def spoken(world: World) -> list[str]:
    return [action.text for action in world.to_speak]


def test_thoughts_are_no_silence_and_have_a_time_of_their_own() -> None:
    world = asked()
    first_ms = world.timers[REPLY]
    world.now_ms += 10_000
    thinks(world)
    assert world.timers[REPLY] == first_ms + 10_000
    limit_ms = world.timers[THINKING]
    world.now_ms += 10_000
    thinks(world)
    assert world.timers[THINKING] == limit_ms == 10_000 + Limits().thinking_timeout_ms
    world.text("It is noon. ")
    assert not {REPLY, THINKING} & set(world.timers)
    assert [failure.code for failure in world.failures()] == []


def test_a_model_that_thinks_for_too_long_is_given_up() -> None:
    world = asked()
    thinks(world)
    world.fire(THINKING)
    world.settle()
    assert spoken(world) == ["Sorry."]
    assert [(failure.code, failure.message) for failure in world.failures()] == [
        ("reply_timeout", "the language model thought for too long")
    ]


def test_a_long_wait_is_bridged_again_at_growing_intervals_and_the_answer_follows() -> None:
    world, waits_ms = asked(), []
    for _ in range(3):
        world.fire(BRIDGE)
        waits_ms.append(world.timers[BRIDGE] - world.now_ms)
        world.synthesise_all()
        world.frames(5)
        world.now_ms = max(world.now_ms, world.timers[BRIDGE] - 1)
        world.play_all()
        thinks(world)
    assert waits_ms == [8000.0, 16000.0, 32000.0]
    world.answer("It is noon.")
    world.play_all()
    assert BRIDGE not in world.timers
    assert world.assistant_texts() == ["One moment. Just a second. One moment. It is noon."]


def test_no_filler_is_said_while_words_of_the_reply_are_heard_or_come() -> None:
    world = asked()
    world.text("It is noon. ")
    world.synthesise_all()
    world.fire(BRIDGE)
    assert world.timers[BRIDGE] == world.now_ms + LOOK_AGAIN_MS
    world.play_all()
    world.text("And ")
    world.fire(BRIDGE)
    assert world.timers[BRIDGE] > world.now_ms + LOOK_AGAIN_MS
    assert spoken(world) == []
    world.fire(BRIDGE)
    assert spoken(world) == ["One moment."]
    world.play_all()
    world.answer("hot.")
    world.play_all()
    assert world.assistant_texts() == ["It is noon. One moment. And hot."]


def test_words_of_which_no_clause_is_complete_are_bridged_as_silence_is() -> None:
    """The caller hears nothing of them."""
    world = asked()
    world.text("It ")
    world.now_ms = world.timers[BRIDGE] - 10
    world.text("is ")
    world.fire(BRIDGE)
    assert spoken(world) == ["One moment."]
    world.play_all()
    world.answer("noon.")
    world.play_all()
    assert world.assistant_texts() == ["One moment. It is noon."]


def test_words_behind_a_filler_of_which_no_clause_is_complete_are_bridged_again() -> None:
    world = asked()
    world.fire(BRIDGE)
    world.play_all()
    world.text("It ")
    world.fire(BRIDGE)
    assert spoken(world) == ["Just a second."]
    world.play_all()
    world.answer("is noon.")
    world.play_all()
    assert world.assistant_texts() == ["One moment. Just a second. It is noon."]


def test_a_speculative_reply_is_bridged_only_once_it_is_committed() -> None:
    world = begun(phrases=Phrases(fillers=FILLERS))
    world.speech()
    world.pause_with("What time is it?")
    world.silence()
    thinks(world)
    assert not {BRIDGE, REPLY, THINKING} & set(world.timers)
    world.endpoint()
    assert {BRIDGE, REPLY} <= set(world.timers)
    world.fire(BRIDGE)
    assert spoken(world) == ["One moment."]


def test_a_filler_is_all_that_remains_of_thoughts_that_the_caller_interrupts() -> None:
    world = asked()
    world.fire(BRIDGE)
    world.play_all()
    world.say("And in Paris?")
    world.settle()
    assert [message.content for message in world.generations[-1].messages] == [
        "What time is it?",
        "One moment.",
        "And in Paris?",
    ]


def test_an_answer_of_nothing_after_a_filler_is_a_failure() -> None:
    world = asked()
    world.fire(BRIDGE)
    world.play_all()
    world.generated()
    assert [failure.code for failure in world.failures()] == ["empty_reply"]
    assert spoken(world) == ["Sorry."]


def test_what_stands_before_a_tool_call_is_said_when_the_call_begins() -> None:
    world = begun(tools={"save": ToolRule()})
    world.say("Save it.")
    world.text("Let me write that down")
    assert spoken(world) == []
    world.feed(ev.ToolCallBegun(world.now_ms, 1))
    assert spoken(world) == ["Let me write that down"]
    assert REPLY not in world.timers
    world.call_tool("save")
    world.generated()
    assert spoken(world) == ["Let me write that down"]


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        ("It is noon.", 100),
        ("Is it?", 100),
        ("Great!", 100),
        ('He said "never."', 100),
        ("(It is open.)", 100),
        ("Ask for Dr.", 300),
        ("It costs 3.", 300),
        ("See No.", 300),
        ("Ask for J.", 300),
        ("At 3 p.m.", 300),
        ("Well...", 300),
        ("Well…", 300),
        ('He said "no.', 300),
        ("Write to anna@example.", 300),
        ("Of course,", 300),
        ("It is", 0),
        ("", 0),
    ],
)
def test_a_plain_end_is_said_at_once_and_an_unsure_one_a_little_later(text: str, wait_ms: float) -> None:
    assert end_wait_ms(text, first=True, abbreviations=ENGLISH.abbreviations) == wait_ms
    world = asked()
    world.text(f"{text}")
    assert spoken(world) == []
    world.fire(RELEASE)
    assert spoken(world) == ([text] if wait_ms else [])


def test_a_mark_that_comes_after_its_sentence_is_not_said_alone() -> None:
    world = asked()
    world.text("What?")
    world.fire(RELEASE)
    world.text("! ")
    world.answer("Yes.")
    assert spoken(world) == ["What?", "Yes."]


def test_text_that_comes_in_time_goes_on() -> None:
    world = asked()
    world.text("It costs 3.")
    world.text("50 euros. ")
    assert RELEASE not in world.timers
    assert spoken(world) == ["It costs 3.50 euros."]
