"""What a call would leave if its server were killed at this very moment."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings

from tests.conversation.test_handover import CUE, PROMPTS, RULES, at_the_other_server, said, talking
from tests.conversation.test_properties import Opening, come_to_rest, openings, run, scripts
from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.state import LIVE, Phase, State
from voiceagent.conversation.sudden_end import left_at


def left(world: World) -> State:
    """What is left, as it comes out of the store. The call itself does not change."""
    before = world.state
    found = left_at(world.state, world.now_ms)
    assert world.state is before
    assert found is not None
    return msgspec.json.decode(msgspec.json.encode(found[0], enc_hook=float), type=State)


def test_the_rest_of_a_reply_is_said_from_the_first_word_that_was_not_heard() -> None:
    world = talking()
    world.say("Tell me more.")
    world.answer("One two three four five six.")
    world.synthesise_all()
    world.frames(25)
    other = at_the_other_server(left(world))
    assert [action.cue for action in other.actions if isinstance(action, act.ResumeReply)] == [CUE]
    other.play_all()
    assert " ".join(text for role, text in said(other) if role == "assistant") == "Good morning. One two three four five six."
    world.play_all()
    assert said(world)[-1] == ("assistant", "One two three four five six."), "the call itself goes on"


def test_a_tool_with_an_effect_that_had_begun_is_not_run_again_and_its_outcome_is_unknown() -> None:
    world = talking()
    world.say("Book it.")
    world.call_tool("book")
    world.generated()
    other = at_the_other_server(left(world))
    assert not other.tools
    assert other.generations[-1].messages[-1].content == PROMPTS.tool_outcome_unknown


def test_the_result_of_a_tool_that_had_ended_is_told() -> None:
    world = talking()
    world.say("Book it.")
    world.call_tool("book")
    world.generated()
    world.finish_tool()
    other = at_the_other_server(left(world))
    assert not other.tools
    told = [message.content for message in other.generations[-1].messages]
    assert PROMPTS.tool_outcome_unknown not in told
    assert told[-1] == '{"ok": true}'


def test_a_caller_who_was_speaking_is_asked_to_say_it_again() -> None:
    world = talking()
    world.speech()
    world.partial("Book a")
    other = at_the_other_server(left(world))
    other.play_all()
    assert said(other)[1:] == [("assistant", "Sorry, I didn't catch that.")]
    assert [action.cue for action in other.actions if isinstance(action, act.ResumeReply)] == [CUE]


def test_words_that_are_known_are_answered() -> None:
    world = talking()
    world.speech()
    world.pause_with("Tell me more.")
    other = at_the_other_server(left(world))
    assert other.generations[-1].messages[-1].content == "Tell me more."


def test_a_call_that_is_not_to_go_on_leaves_nothing() -> None:
    world = World(RULES)
    assert left_at(world.state, 0.0) is None
    world = talking()
    world.feed(ev.EndRequested(world.now_ms, "done"))
    assert left_at(world.state, world.now_ms) is None
    world.feed(ev.HangUp(world.now_ms, "hangup"))
    assert left_at(world.state, world.now_ms) is None


@given(openings, scripts)
@settings(max_examples=150, deadline=None)
def test_a_call_whose_server_is_killed_at_any_moment_goes_on(opening: Opening, script: list[tuple[str, str]]) -> None:
    first = run(opening, script)
    found = left_at(first.state, first.now_ms)
    if found is None:
        assert first.state.phase not in LIVE or first.state.silence.ending
        return
    state = left(first)
    other = World(first.state.rules)
    other.state = machine.start(first.state.rules, state)
    other.begin()
    assert other.state.reply is None or other.state.connection.lost_ms is not None
    other.feed(ev.ConnectionResumed(other.now_ms))
    come_to_rest(other)
    assert other.state.phase in (Phase.IDLE, Phase.ENDED)
    began = [(run.name, run.arguments) for run in first.tools]
    assert not [run for run in other.tools if (run.name, run.arguments) in began]
