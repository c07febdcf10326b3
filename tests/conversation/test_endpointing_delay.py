"""How long a pause must last, by what the turn judges have answered so far."""

from __future__ import annotations

import pytest

from tests.conversation.world import World, begun
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import EndpointingRules
from voiceagent.turn_taking.endpointing import EndpointModel, Prosody

WORDS = "Could you move my appointment to Friday, please?"
WAIT_MS = EndpointingRules().judges_wait_ms


def call(by_sound: tuple[str, ...] = ("ear",), by_words: tuple[str, ...] = ("meaning",)) -> World:
    rules = EndpointingRules(model=EndpointModel(risk=0.3), judges_by_sound=by_sound, judges_by_words=by_words)
    return begun(endpointing=rules)


def judged(world: World, judge: str, chance: float | None) -> None:
    world.feed(ev.TurnJudged(world.now_ms, world.utterance, world.pause_id, judge, chance))


def test_a_turn_does_not_end_before_its_judges_have_answered() -> None:
    world = call()
    world.speech()
    world.pause_with(WORDS)
    judged(world, "meaning", 0.999)
    assert world.endpoint_ms() >= WAIT_MS
    judged(world, "ear", 0.99)
    assert world.endpoint_ms() == 200.0


def test_the_judge_that_comes_last_may_ask_for_more_time() -> None:
    world = call()
    world.speech()
    world.pause_with(WORDS)
    judged(world, "meaning", 0.7)
    judged(world, "ear", 0.02)
    assert world.endpoint_ms() > WAIT_MS


@pytest.mark.parametrize("missing", ["ear", "meaning"])
def test_a_judge_that_cannot_tell_is_not_waited_for(missing: str) -> None:
    world = call()
    world.speech()
    world.pause_with(WORDS)
    for judge in ("ear", "meaning"):
        judged(world, judge, None if judge == missing else 0.999)
    assert world.endpoint_ms() < WAIT_MS


def test_a_judge_that_weighs_nothing_is_not_waited_for() -> None:
    world = call((), ("ear", "of another package"))
    world.speech()
    world.pause_with(WORDS)
    judged(world, "ear", 0.999)
    assert world.endpoint_ms() < WAIT_MS


def test_without_judges_no_turn_waits_for_one() -> None:
    world = call((), ())
    world.speech()
    world.pause_with("Thank you so much.")
    assert world.endpoint_ms() < WAIT_MS


@pytest.mark.parametrize(("chance", "voiced_ms", "soon"), [(0.99, 1600.0, True), (0.01, 1600.0, False), (0.99, 400.0, False)])
def test_speech_without_words_ends_sooner_where_it_sounds_like_a_whole_turn(chance: float, voiced_ms: float, soon: bool) -> None:
    world = call()
    world.speech()
    world.pause_id += 1
    world.feed(ev.SpeechPaused(world.now_ms, world.utterance, world.pause_id, world.now_ms - 100, voiced_ms, Prosody(), 0.0))
    judged(world, "ear", chance)
    world.finals.clear()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, "", world.pause_id))
    assert (world.endpoint_ms() < 1300.0) == soon
    assert world.endpoint_ms() >= 1000.0
