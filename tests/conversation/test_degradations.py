"""What a call goes without while the latency budgets ask for it: the level is an event, so the decisions replay."""

from __future__ import annotations

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.reply_lifecycle import BRIDGE, FILLER
from voiceagent.conversation.rules import SHORT_WORDS, Degradation, Phrases, Rules, ToolRule

TWENTY = "One two three four five six seven eight nine ten, one two three four five six seven eight nine ten."


def degraded(*degradations: Degradation) -> World:
    tools = {"find": ToolRule("none")}
    world = begun(phrases=Phrases(fillers=("One moment.",)), tools=tools)
    degrade(world, *degradations)
    return world


def degrade(world: World, *degradations: Degradation) -> tuple[act.AnyAction, ...]:
    return world.feed(ev.DegradationChanged(world.now_ms, degradations))


def ended(world: World) -> list[act.AnyAction]:
    return [action for action in world.actions if isinstance(action, act.EndGeneration)]


def test_replies_are_as_long_as_usual_again_once_the_budgets_say_so() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    assert degrade(world) == (act.Degraded(()),)
    world.say("Tell me all.")
    world.text(f"{TWENTY} And more. And more.")
    assert not ended(world)


def said(world: World) -> tuple[str, str]:
    (reply,) = (action for action in world.actions if isinstance(action, act.ReplyEnded))
    return reply.status, reply.heard


def test_a_short_reply_ends_with_its_sentence_and_what_comes_later_is_not_said() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    world.say("Tell me all.")
    world.text("It is long. ")
    world.text(f"{TWENTY} And")
    world.text(" more. And more.")
    world.generated()
    world.play_all()
    assert said(world) == ("completed", f"It is long. {TWENTY}")
    assert len(TWENTY.split()) == SHORT_WORDS


def test_the_model_is_stopped_when_no_tool_call_follows_the_next_sentence() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    world.say("Tell me all.")
    world.text(f"{TWENTY} And")
    world.text(" Dr. Miller says more.")
    assert not ended(world)
    world.text(" And")
    assert len(ended(world)) == 1
    world.play_all()
    assert said(world) == ("completed", TWENTY)


def test_a_model_without_tools_is_stopped_with_the_sentence() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    world.say("Tell me all.")
    world.feed(ev.TextDelta(world.now_ms, world.generations[-1].reply_id, f"{TWENTY} And", may_call=False))
    assert len(ended(world)) == 1
    world.play_all()
    assert said(world) == ("completed", TWENTY)


def test_a_tool_call_behind_a_short_reply_is_made_and_its_result_is_told() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    world.say("Tell me all.")
    world.text(f"{TWENTY} And")
    degrade(world)
    world.text(" more, which I look up now.")
    world.call_tool("find", "{}")
    world.generated()
    world.finish_tool()
    world.text("It is found. ")
    world.generated()
    world.play_all()
    assert said(world) == ("completed", f"{TWENTY} It is found.")


def test_a_short_reply_never_ends_inside_a_sentence_or_at_an_abbreviation() -> None:
    world = degraded(Degradation.SHORT_REPLIES)
    world.say("Tell me all.")
    world.text(f"{TWENTY[:-1]} says Dr. Miller, and so on, and so on, and so on")
    assert not ended(world)


def test_without_a_degradation_a_reply_is_as_long_as_the_model_makes_it() -> None:
    world = degraded()
    world.say("Tell me all.")
    world.text(f"{TWENTY} And more. And more.")
    assert not ended(world)


def test_fillers_come_earlier() -> None:
    waits_ms = []
    for degradations in ((), (Degradation.EARLY_FILLERS,)):
        world = degraded(*degradations)
        world.say("What is the weather in Paris?")
        model_ms = world.timers[BRIDGE] - world.now_ms
        world.call_tool("find", "{}")
        world.generated()
        waits_ms.append((model_ms, world.timers[FILLER] - world.now_ms))
    (model_ms, tool_ms), early = waits_ms
    assert early == (model_ms * 0.4, tool_ms * 0.4)


def test_a_degradation_that_is_there_already_is_not_told_again() -> None:
    world = degraded(Degradation.EARLY_FILLERS)
    assert degrade(world, Degradation.EARLY_FILLERS) == ()


def test_a_degraded_call_replays_to_the_same_decisions() -> None:
    steps: list[tuple[ev.Event, tuple[act.AnyAction, ...]]] = []
    world = World(Rules(language="en"), lambda event, actions: steps.append((event, actions)))
    world.begin()
    degrade(world, *Degradation)
    world.say("Tell me all.")
    world.text(f"{TWENTY} And more.")
    world.play_all()
    assert all(step.same for step in machine.replay(Rules(language="en"), steps))
