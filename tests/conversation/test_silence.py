"""How long nobody has spoken: what begins the silence anew, and that a call with nobody in it ends while one with somebody does
not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.endpointing import Prosody
from voiceagent.turn_taking.overlap import MANNERS

TIMEOUT_MS = 30_000.0
COUGH_MS, MUMBLE_MS = 300.0, 1400.0
LIMITS = Limits(silence_timeout_ms=TIMEOUT_MS)
PHRASES = Phrases(check_in="Are you there?", farewell="Goodbye.")


def call(manners: str = "eager") -> World:
    return begun(limits=LIMITS, phrases=PHRASES, manners=MANNERS[manners])


def pass_time(world: World, ms: float) -> None:
    """Time passes. Timers that are due run out, and what the agent says is heard."""
    until_ms = world.now_ms + ms
    while not world.ended:
        world.play_all()
        world.settle()
        name = min(world.timers, key=lambda one: world.timers[one], default="")
        if not name or world.timers[name] > until_ms:
            break
        world.fire(name)
    world.now_ms = max(world.now_ms, until_ms)


def sound(world: World, lasts_ms: float, words: str = "", voiced_ms: float | None = None) -> None:
    """A sound of the caller, in which `words` are understood."""
    world.speech()
    pass_time(world, lasts_ms)
    pause(world, lasts_ms if voiced_ms is None else voiced_ms)
    if world.ended or world.state.phase is not Phase.HEARING:
        return
    world.final(words)
    pass_time(world, 500.0)
    world.endpoint()
    world.settle()
    world.fire("go_on")


def pause(world: World, voiced_ms: float) -> None:
    world.pause_id += 1
    event = ev.SpeechPaused(world.now_ms, world.utterance, world.pause_id, world.now_ms - 100, voiced_ms, Prosody())
    world.feed(event)


def said(world: World) -> list[str]:
    return [action.text for action in world.actions if isinstance(action, act.Speak)]


def times_ms(world: World, every_ms: float, sound_ms: float, most_ms: float) -> float:
    """How long the call lasts while such sounds come."""
    began_ms = world.now_ms
    while not world.ended and world.now_ms - began_ms < most_ms:
        pass_time(world, every_ms)
        if not world.ended:
            sound(world, sound_ms)
    return world.now_ms - began_ms


@pytest.mark.parametrize("manners", sorted(MANNERS))
@pytest.mark.parametrize("every_ms", [1000.0, 5000.0, 20_000.0])
def test_coughs_do_not_keep_a_call(every_ms: float, manners: str) -> None:
    world = call(manners)
    lasted_ms = times_ms(world, every_ms, COUGH_MS, 20 * TIMEOUT_MS)
    assert world.ended == "silence"
    assert lasted_ms < 3 * TIMEOUT_MS
    assert [text for text in said(world) if text in ("Are you there?", "Goodbye.")] == ["Are you there?", "Goodbye."]


@pytest.mark.parametrize("every_ms", [1000.0, 5000.0, 20_000.0])
@pytest.mark.parametrize("sound_ms", [900.0, 1400.0, 5000.0, 20_000.0])
def test_a_television_without_words_does_not_keep_a_call(every_ms: float, sound_ms: float) -> None:
    world = call()
    lasted_ms = times_ms(world, every_ms, sound_ms, 20 * TIMEOUT_MS)
    assert world.ended == "silence"
    assert lasted_ms < 7 * TIMEOUT_MS


def test_a_noise_that_never_ends_does_not_keep_a_call() -> None:
    world = call()
    began_ms = world.now_ms
    while not world.ended and world.now_ms - began_ms < 20 * TIMEOUT_MS:
        if world.state.phase is not Phase.HEARING:
            world.speech()
        pass_time(world, 3000.0)
        pause(world, 3000.0)
        world.resume()
    assert world.ended == "silence"
    assert world.now_ms - began_ms < 7 * TIMEOUT_MS


def test_speech_that_nobody_understands_begins_the_silence_anew() -> None:
    world = call()
    pass_time(world, 25_000.0)
    sound(world, 1600.0, voiced_ms=MUMBLE_MS)
    pass_time(world, 25_000.0)
    assert not said(world)
    pass_time(world, 10_000.0)
    assert said(world) == ["Are you there?"]


def test_somebody_who_mumbles_after_the_check_in_is_asked_again_and_not_hung_up_on() -> None:
    world = call()
    pass_time(world, 35_000.0)
    sound(world, 1600.0, voiced_ms=MUMBLE_MS)
    pass_time(world, 35_000.0)
    assert said(world) == ["Are you there?", "Are you there?"]
    assert not world.ended


def test_a_cough_does_not_begin_the_silence_anew() -> None:
    world = call()
    pass_time(world, 25_000.0)
    sound(world, COUGH_MS)
    assert world.timers["silence"] == TIMEOUT_MS
    pass_time(world, 5_000.0)
    assert said(world) == ["Are you there?"]


def test_a_cough_after_the_check_in_is_no_answer() -> None:
    world = call()
    pass_time(world, 35_000.0)
    sound(world, COUGH_MS)
    pass_time(world, 30_000.0)
    assert said(world) == ["Are you there?", "Goodbye."]
    assert world.ended == "silence"


def test_words_after_the_check_in_are_an_answer() -> None:
    world = call()
    pass_time(world, 35_000.0)
    sound(world, 1000.0, "What time is it?")
    world.answer("It is noon.")
    pass_time(world, 35_000.0)
    assert said(world)[-1] == "Are you there?"
    assert not world.ended


@pytest.mark.parametrize("manners", sorted(MANNERS))
def test_a_call_does_not_end_while_the_caller_speaks_over_the_farewell(manners: str) -> None:
    world = call(manners)
    pass_time(world, 35_000.0)
    world.fire("silence")
    assert said(world)[-1] == "Goodbye."
    world.speech()
    world.play_all()
    assert not world.ended
    pause(world, MUMBLE_MS)
    world.final("Wait, I am here.")
    world.endpoint()
    world.settle()
    world.answer("Good.")
    world.play_all()
    assert not world.ended
    assert world.state.phase is Phase.IDLE


@pytest.mark.parametrize("manners", sorted(MANNERS))
def test_a_cough_over_the_farewell_does_not_keep_the_call(manners: str) -> None:
    world = call(manners)
    pass_time(world, 35_000.0)
    world.fire("silence")
    sound(world, COUGH_MS)
    pass_time(world, 2000.0)
    assert world.ended == "silence"


def test_something_typed_begins_the_silence_anew() -> None:
    world = call()
    pass_time(world, 25_000.0)
    world.feed(ev.TextReceived(world.now_ms, "Hello"))
    pass_time(world, 10_000.0)
    assert not said(world)
    pass_time(world, 20_000.0)
    assert said(world) == ["Are you there?"]


def test_a_call_without_a_silence_time_waits_for_ever() -> None:
    world = begun(limits=Limits(silence_timeout_ms=0.0), phrases=PHRASES)
    times_ms(world, 5000.0, 5000.0, 20 * TIMEOUT_MS)
    assert not world.ended


some_sounds = st.lists(
    st.tuples(
        st.sampled_from([200.0, 3000.0, 29_000.0]), st.sampled_from([200.0, 900.0, 8000.0]), st.sampled_from(["", "", "One."])
    ),
    max_size=40,
)


class Watched(World):
    """Fails when the call ends while the caller speaks."""

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        before = self.state
        actions = super().feed(event)
        if any(isinstance(action, act.End) for action in actions):
            speaks = before.phase is Phase.HEARING and before.utterance.pause is None
            assert not speaks or isinstance(event, ev.SpeechPaused), "the call ended while the caller spoke"
        return actions


@given(some_sounds, st.sampled_from(sorted(MANNERS)))
@settings(max_examples=150, deadline=None)
def test_no_call_ends_while_the_caller_speaks(sounds: list[tuple[float, float, str]], manners: str) -> None:
    world = Watched(begun(limits=LIMITS, phrases=PHRASES, manners=MANNERS[manners]).state.rules)
    world.begin()
    for wait_ms, sound_ms, words in sounds:
        pass_time(world, wait_ms)
        if not world.ended:
            sound(world, sound_ms, words)
            world.answer("All right.")
    pass_time(world, 10 * TIMEOUT_MS)
    world.settle()
    assert world.ended == "silence"
