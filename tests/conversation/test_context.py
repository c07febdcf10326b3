"""What documents say, in the turn engine: how it gets into prompts and histories, and that prompts only grow."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk, Message
from voiceagent.conversation.rules import MemoryRules, Rules
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.models.registry import resolve
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.languages.en import ENGLISH

BREAKFAST = Chunk("hotel.md: Breakfast", "Breakfast is served from seven to ten.")
SUNDAY = Chunk("hotel.md: Sundays", "On Sundays it is served until noon.")
PARKING = Chunk("hotel.md: Parking", "The garage costs 12 euros.")


def begun(**rules: Any) -> World:
    world = World(Rules(language="en", instructions="Be brief.", **rules))
    world.begin()
    return world


def asked(words: str, *chunks: Chunk) -> Message:
    return Message("user", words, context=chunks, context_head=ENGLISH.prompts.context)


def find(world: World, *chunks: Chunk) -> tuple[act.AnyAction, ...]:
    return world.feed(ev.ContextFound(world.now_ms, world.utterance, chunks))


def prompts(world: World) -> list[tuple[Message, ...]]:
    return [action.messages for action in world.actions if isinstance(action, act.Generate | act.Prefill)]


def common(one: list[int], other: list[int]) -> int:
    """How many token ids both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_chunks_are_read_ahead_as_they_come_and_stay_where_they_are() -> None:
    world = begun()
    world.speech()
    world.partial("When is breakfast")
    (prefill,) = find(world, BREAKFAST)
    assert isinstance(prefill, act.Prefill)
    assert prefill.messages[-1] == asked("When is breakfast", BREAKFAST)
    assert find(world, BREAKFAST) == (), "it is there already"
    world.partial("When is breakfast on")
    find(world, SUNDAY)
    world.pause_with("When is breakfast on Sunday?")
    world.silence()
    assert world.generations[-1].messages[-1].context == (BREAKFAST, SUNDAY)
    world.answer("Until noon.")
    world.endpoint()
    world.play_all()
    assert world.state.memory.history[0] == asked("When is breakfast on Sunday?", BREAKFAST, SUNDAY)
    assert world.state.caller_turn.context == ()


def test_a_speculative_reply_is_remembered_with_what_it_was_prompted_with() -> None:
    world = begun()
    world.speech()
    world.pause_with("When is breakfast?")
    world.silence()
    find(world, BREAKFAST)
    world.endpoint()
    assert world.state.memory.history[-1] == Message("user", "When is breakfast?"), (
        "it came too late for the kept speculative reply"
    )


def test_what_was_told_is_not_told_again() -> None:
    world = begun()
    for said in ("When is breakfast?", "And breakfast on Monday?"):
        world.speech()
        world.partial(said)
        find(world, BREAKFAST)
        world.endpoint()
        world.final(said)
        world.answer("From seven.")
        world.play_all()
    assert [message.context for message in world.state.memory.history if message.role == "user"] == [(BREAKFAST,), ()]


def test_the_room_for_context_is_bounded() -> None:
    world = begun(memory=MemoryRules(max_chunks=2, max_chunk_characters=60))
    world.speech()
    find(world, Chunk("a", "x" * 50), Chunk("b", "y" * 20), Chunk("c", "z" * 10), Chunk("d", "z"))
    assert [chunk.source for chunk in world.state.caller_turn.context] == ["a", "c"]


def test_context_of_an_utterance_that_was_none_is_forgotten() -> None:
    world = begun()
    world.speech()
    find(world, PARKING)
    world.endpoint()
    world.final("")
    assert find(world, SUNDAY) == (), "too late"
    world.speech()
    assert world.state.caller_turn.context == ()


def test_a_question_that_is_taken_up_again_keeps_its_context_in_front() -> None:
    world = begun()
    world.speech()
    world.partial("When is breakfast")
    find(world, BREAKFAST)
    world.endpoint()
    world.final("When is breakfast?")
    world.speech()
    world.partial("On Sunday I mean and")
    find(world, SUNDAY)
    world.settle()
    world.endpoint()
    world.final("On Sunday, I mean.")
    world.settle()
    question = world.generations[-1].messages[-1]
    assert question == asked("When is breakfast? On Sunday, I mean.", BREAKFAST, SUNDAY)


def test_a_typed_message_brings_its_context() -> None:
    world = begun()
    world.feed(ev.TextReceived(0.0, "Where can I park?", context=(PARKING,)))
    world.feed(ev.ReplyRequested(0.0))
    assert world.generations[-1].messages[-1].context == (PARKING,)


def test_each_prompt_begins_with_the_one_before_token_by_token() -> None:
    tools = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()
    format = ChatPrompt(resolve("micro-lm"))
    world = begun()
    for said, chunk in (("When is breakfast on Sunday?", BREAKFAST), ("And where can I park?", PARKING)):
        world.speech()
        words = said.split()
        world.partial(" ".join(words[:3]))
        find(world, chunk)
        world.partial(" ".join(words[:4]))
        world.endpoint()
        world.final(said)
        world.call_tool("look")
        world.finish_tool('{"found": true}')
        world.answer("Let me see. It is so.")
        world.play_all()
    for before, after in pairwise(prompts(world)):
        asked = format.ids(before, tools)
        settled = len(asked)
        if before[-1].role != "user":
            settled = common(asked, format.ids((*before, Message("user", "")), tools))
        else:
            settled = common(asked, format.ids((*before[:-1], replace(before[-1], content="")), tools)) - 1
        assert common(asked, format.ids(after, tools)) >= settled, "nothing but the caller's words may be read anew"
    generated = [format.ids(action.messages, tools) for action in world.actions if isinstance(action, act.Generate)]
    for earlier, later in pairwise(generated):
        assert later[: len(earlier)] == earlier
