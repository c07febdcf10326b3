"""What the engine counts of the caller's pauses in a call."""

from __future__ import annotations

from tests.conversation.world import World
from voiceagent.conversation.rules import EndpointingRules, Rules
from voiceagent.turn_taking.endpointing import EndpointModel, Habit

BY_HABIT = EndpointingRules(EndpointModel({"habit": 1.0}))


def begun() -> World:
    world = World(Rules(language="en", endpointing=BY_HABIT))
    world.begin()
    return world


def pause_of(world: World, silence_ms: float) -> None:
    """The caller pauses for that long, then speaks on. A pause is noticed after 100 ms."""
    world.pause_with("I would like to")
    world.now_ms += silence_ms - 100
    world.resume()


def test_a_pause_after_which_the_caller_speaks_on_is_counted() -> None:
    world = begun()
    world.speech()
    pause_of(world, 450)
    pause_of(world, 900)
    assert world.state.habit == Habit(went_on=2)


def test_a_silence_inside_a_phrase_is_no_pause() -> None:
    world = begun()
    world.speech()
    pause_of(world, 150)
    assert world.state.habit == Habit()


def test_an_end_of_a_turn_is_counted_once() -> None:
    world = begun()
    world.say("Hello.")
    world.answer("Hello, how can I help?")
    assert world.state.habit == Habit(ended=1)


def test_a_sound_without_words_is_no_turn() -> None:
    world = begun()
    world.say("")
    assert world.state.habit == Habit()


def test_a_caller_who_is_cut_off_and_speaks_on_had_paused_inside_the_turn() -> None:
    world = begun()
    world.say("I would like to")
    assert world.state.habit == Habit(ended=1)
    world.now_ms += 300
    world.speech()
    world.now_ms += 600
    world.pause_with("move my appointment to Friday.")
    assert world.state.habit == Habit(went_on=1)
    world.endpoint()
    assert world.state.habit == Habit(went_on=1, ended=1)


def test_a_caller_who_interrupts_a_long_reply_had_finished_before_it() -> None:
    world = begun()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a small house by the sea, and in it there lived an old sailor.")
    world.synthesise_all()
    world.frames(120)
    world.speech()
    world.now_ms += 600
    world.pause_with("Please stop that now and tell me another one.")
    assert world.state.habit == Habit(ended=1)


def test_a_caller_who_often_pauses_is_waited_for_longer() -> None:
    world = begun()
    world.speech()
    world.pause_with("I would like to")
    first_ms = world.endpoint_ms()
    world.now_ms += 500
    world.resume()
    for _ in range(4):
        pause_of(world, 500)
    world.pause_with("I would like to")
    assert world.endpoint_ms() > first_ms
