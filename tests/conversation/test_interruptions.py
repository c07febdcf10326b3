"""How long the agent waits in the pauses of an utterance that interrupted it."""

from __future__ import annotations

import pytest

from tests.conversation.world import World
from voiceagent.conversation.rules import EndpointingRules, Rules
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.overlap import Manners

STORY = "Once upon a time there was a small house by the sea."
QUESTION = "What is the weather in Paris?"
MANNERS = Manners("go on", pause_after_ms=300, patience_ms=800, quiet_ms=500)


def spoken_over(said: str, words: str, rules: EndpointingRules, after_frames: int = 14) -> float:
    """The endpointing delay after these words, which were spoken over the agent once it had said so many frames."""
    world = World(Rules(language="en", manners=MANNERS, endpointing=rules))
    world.begin()
    world.say("Hello.")
    world.answer(said)
    world.synthesise_all()
    world.frames(after_frames)
    world.speech()
    world.overlap(700.0)
    world.pause_with(words)
    return world.endpoint_ms()


MODEL = EndpointModel({"bias": 9.0})
"""Takes every pause for the end."""


def test_in_the_pause_of_an_interruption_the_agent_waits_longer() -> None:
    quiet = World(Rules(language="en", endpointing=EndpointingRules(MODEL)))
    quiet.begin()
    quiet.speech()
    quiet.pause_with(QUESTION)
    assert quiet.endpoint_ms() == 200
    assert spoken_over(STORY, QUESTION, EndpointingRules(MODEL)) == 400


def test_whoever_answers_before_the_agent_has_finished_asking_is_answered_as_soon_as_others() -> None:
    assert spoken_over("Shall I book it?", "Yes, please do that.", EndpointingRules(MODEL), after_frames=30) == 200


@pytest.mark.parametrize(
    ("rules", "delay_ms"),
    [
        (EndpointingRules(MODEL, min_delay_ms=600), 600),
        (EndpointingRules(MODEL, max_delay_ms=300), 300),
        (EndpointingRules(MODEL, interruption_delay_ms=0), 200),
    ],
    ids=["a longer shortest delay", "a short longest delay", "none of its own"],
)
def test_the_delay_stays_within_the_others(rules: EndpointingRules, delay_ms: float) -> None:
    assert spoken_over(STORY, QUESTION, rules) == delay_ms


def test_the_next_utterance_is_an_interruption_only_if_it_interrupts() -> None:
    world = World(Rules(language="en", manners=MANNERS, endpointing=EndpointingRules(MODEL)))
    world.begin()
    world.say("Tell me a story.")
    world.answer(STORY)
    world.synthesise_all()
    world.frames(14)
    world.speech()
    world.overlap(700.0)
    world.pause_with(QUESTION)
    world.endpoint()
    world.answer("It is sunny.")
    world.synthesise_all()
    world.play_all()
    world.speech()
    world.pause_with(QUESTION)
    assert world.endpoint_ms() == 200
