"""Speech that was heard and not understood is answered; a cough, a click and a room are not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conversation.world import World, begun
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases, Rules
from voiceagent.conversation.state import Phase
from voiceagent.turn_taking.endpointing import Prosody
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.overlap import MANNERS

AGAIN, OFFER, HELLO, SORRY = "Say that again?", "Do you want a person?", "Hello?", "That broke."
PHRASES = Phrases(
    not_understood=AGAIN, offer_person=OFFER, check_in=HELLO, apology=SORRY, transfer="I'll put you through.", farewell="Goodbye."
)
TIMEOUT_MS = 30_000.0


def call(**rules: Any) -> World:
    return begun(**{"phrases": PHRASES, "limits": Limits(silence_timeout_ms=TIMEOUT_MS), **rules})


def mumble(
    world: World,
    voiced_ms: float = 1600.0,
    chance: float | None = 0.9,
    *,
    words: str = "",
    failed: bool = False,
    words_chance: float | None = None,
    heard: bool = True,
) -> None:
    """The caller speaks and falls silent; the ear judges the pause, and the recogniser finds `words`."""
    world.speech()
    finish(world, voiced_ms, chance, words=words, failed=failed, words_chance=words_chance)
    if heard:
        world.play_all()


def finish(
    world: World,
    voiced_ms: float,
    chance: float | None,
    *,
    words: str = "",
    failed: bool = False,
    words_chance: float | None = None,
) -> None:
    world.now_ms += voiced_ms
    world.pause_id += 1
    at_ms, end_ms = world.now_ms, world.now_ms - 100
    world.feed(ev.SpeechPaused(at_ms, world.utterance, world.pause_id, end_ms, voiced_ms, Prosody(), 0.0, words_chance))
    if chance is not None:
        world.feed(ev.TurnJudged(world.now_ms, world.utterance, world.pause_id, "ear", chance))
    world.finals.clear()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, words, world.pause_id, failed=failed))
    world.now_ms += 2000
    world.endpoint()
    world.settle()


def said(world: World) -> list[str]:
    return [action.text for action in world.actions if isinstance(action, act.Speak)]


def marks(world: World) -> list[tuple[int, str]]:
    return [(action.times, action.answer) for action in world.actions if isinstance(action, act.NotUnderstood)]


def test_speech_that_sounds_like_a_turn_and_gives_no_words_is_answered() -> None:
    world = call()
    mumble(world)
    assert said(world) == [AGAIN]
    assert marks(world) == [(1, "phrase")]
    assert world.state.phase is Phase.IDLE
    assert [message.content for message in world.state.memory.history] == [AGAIN]


def test_the_words_may_be_known_only_after_the_endpoint() -> None:
    world = call()
    world.speech()
    world.pause_id += 1
    world.feed(ev.SpeechPaused(world.now_ms, world.utterance, world.pause_id, world.now_ms - 100, 1600.0, Prosody()))
    world.feed(ev.TurnJudged(world.now_ms, world.utterance, world.pause_id, "ear", 0.9))
    world.endpoint()
    world.final("")
    assert said(world) == [AGAIN]


@pytest.mark.parametrize(
    ("voiced_ms", "chance"),
    [(300.0, 0.9), (990.0, 0.99), (1000.0, 0.49), (2000.0, 0.24), (2900.0, 0.01), (2900.0, None), (1600.0, None)],
)
def test_a_cough_a_room_or_a_sound_that_is_no_turn_gets_no_answer(voiced_ms: float, chance: float | None) -> None:
    world = call()
    mumble(world, voiced_ms, chance)
    assert not said(world)
    assert not marks(world)
    assert world.state.phase is Phase.IDLE


@pytest.mark.parametrize(("words_chance", "answered"), [(0.1, False), (0.6, True), (None, True)])
@pytest.mark.parametrize("voiced_ms", [1600.0, 5000.0])
def test_a_fit_of_coughs_or_laughter_gets_no_answer_however_long(
    voiced_ms: float, words_chance: float | None, answered: bool
) -> None:
    world = call()
    mumble(world, voiced_ms, words_chance=words_chance)
    assert said(world) == [AGAIN] * answered


@pytest.mark.parametrize(("voiced_ms", "chance"), [(1000.0, 0.5), (2000.0, 0.25), (2900.0, 0.03)])
def test_the_longer_the_speech_the_less_sure_the_ear_must_be(voiced_ms: float, chance: float) -> None:
    world = call()
    mumble(world, voiced_ms, chance)
    assert said(world) == [AGAIN]


@pytest.mark.parametrize("chance", [0.01, None])
def test_long_speech_is_answered_whatever_a_judge_makes_of_its_end_and_without_a_judge(chance: float | None) -> None:
    world = call()
    mumble(world, 3200.0, chance)
    assert said(world) == [AGAIN]


def test_it_is_said_at_most_twice_in_a_row_and_then_asked_whether_the_caller_is_there() -> None:
    world = call()
    for _ in range(4):
        mumble(world)
    assert said(world) == [AGAIN, AGAIN, HELLO, HELLO]
    assert marks(world) == [(1, "phrase"), (2, "phrase"), (3, "check_in"), (4, "check_in")]


def test_understood_words_begin_the_count_anew() -> None:
    world = call()
    mumble(world)
    mumble(world)
    mumble(world, words="What time is it?")
    world.answer("It is noon.")
    world.play_all()
    mumble(world)
    assert said(world) == [AGAIN, AGAIN, "It is noon.", AGAIN]


def test_typed_words_begin_the_count_anew_and_are_answered() -> None:
    world = call()
    mumble(world)
    mumble(world)
    world.feed(ev.TextReceived(world.now_ms, "Hello"))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.answer("Hi.")
    world.play_all()
    mumble(world)
    assert said(world) == [AGAIN, AGAIN, "Hi.", AGAIN]


@pytest.mark.parametrize("answer", ["Yes, please.", "Operator.", "Yes."])
def test_the_third_time_a_person_is_offered_and_a_yes_accepts(answer: str) -> None:
    world = call(transfers=True)
    for _ in range(3):
        mumble(world)
    assert said(world) == [AGAIN, AGAIN, OFFER]
    mumble(world, words=answer)
    assert said(world)[-1] == "I'll put you through."
    assert any(isinstance(action, act.Transfer) for action in world.actions)


def test_who_wants_no_person_goes_on_with_the_agent() -> None:
    world = call(transfers=True)
    for _ in range(3):
        mumble(world)
    mumble(world, words="No, what time is it?")
    assert world.generations
    assert not any(isinstance(action, act.Transfer) for action in world.actions)


def test_a_yes_to_a_later_question_does_not_accept_the_offer() -> None:
    world = call(transfers=True)
    for _ in range(3):
        mumble(world)
    world.now_ms += TIMEOUT_MS
    world.fire("silence")
    world.play_all()
    assert said(world)[-1] == HELLO
    mumble(world, words="Yes.")
    assert world.generations
    assert not any(isinstance(action, act.Transfer) for action in world.actions)


def test_the_language_model_answers_a_stop_to_the_offer_of_a_person() -> None:
    world = call(transfers=True)
    for _ in range(3):
        mumble(world)
    assert said(world)[-1] == OFFER
    mumble(world, words="Stop.")
    assert world.generations


def test_an_empty_phrase_turns_it_off_and_the_mark_stays() -> None:
    world = call(phrases=Phrases(not_understood="", check_in=HELLO))
    for _ in range(4):
        mumble(world)
    assert not said(world)
    assert marks(world) == [(times, "nothing") for times in (1, 2, 3, 4)]


def test_a_recogniser_that_fails_is_apologised_for() -> None:
    world = call()
    mumble(world, failed=True)
    mumble(world, 400.0, failed=True)
    assert said(world) == [SORRY]
    assert marks(world) == [(1, "apology")]


def test_a_recogniser_that_is_too_slow_is_apologised_for() -> None:
    world = call()
    world.speech()
    world.pause_id += 1
    world.feed(ev.SpeechPaused(world.now_ms, world.utterance, world.pause_id, world.now_ms - 100, 1600.0, Prosody()))
    world.feed(ev.TurnJudged(world.now_ms, world.utterance, world.pause_id, "ear", 0.9))
    world.hang()
    world.fire("final")
    assert said(world) == [SORRY]


def test_withheld_words_are_no_missing_words() -> None:
    world = call()
    world.speech()
    world.endpoint()
    refusal = ev.Refusal("rule", "I can't help with that.")
    world.finals.clear()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, "[withheld]", world.pause_id, refusal))
    world.play_all()
    assert said(world) == ["I can't help with that."]
    assert not marks(world)


def test_a_question_stays_open_behind_the_phrase() -> None:
    world = call()
    world.say("Book a table.")
    world.answer("Shall I book it?")
    world.play_all()
    mumble(world)
    mumble(world, words="Okay.")
    assert not world.state.tools.asked_nothing


@pytest.mark.parametrize("manners", sorted(MANNERS))
def test_over_the_agents_voice_nothing_is_asked(manners: str) -> None:
    world = call(manners=MANNERS[manners])
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a very long story that nobody ever heard to its end.")
    world.synthesise_all()
    world.frames(20)
    mumble(world, 1200.0)
    assert AGAIN not in said(world)


def interrupted() -> World:
    """The caller has spoken over a reply for so long that they took the floor, and is not understood."""
    world = call()
    world.say("Tell me a story.")
    world.answer("Once upon a time there was a very long story that nobody ever heard.")
    world.synthesise_all()
    world.frames(40)
    world.speech()
    world.fire("overlap")
    world.settle()
    finish(world, 2000.0, 0.9)
    return world


def test_who_interrupts_and_is_not_understood_is_asked_and_the_rest_follows_if_they_stay_silent() -> None:
    world = interrupted()
    world.play_all()
    assert said(world)[-1] == AGAIN
    told = world.state.memory.history[-2]
    assert told.interrupted
    rest = world.state.replies.unheard_text
    assert rest
    world.fire("rest")
    world.play_all()
    assert world.state.memory.history[-1].content == rest
    assert not world.state.replies.unheard_text
    assert "rest" not in world.timers


def test_who_then_says_it_again_is_answered_and_the_rest_is_not_said() -> None:
    world = interrupted()
    world.play_all()
    mumble(world, words="Stop, what time is it?", heard=False)
    world.answer("It is noon.")
    world.play_all()
    world.fire("rest")
    world.play_all()
    assert said(world)[-1] == "It is noon."


def test_a_cough_into_the_phrase_keeps_the_rest() -> None:
    world = interrupted()
    rest = world.state.replies.unheard_text
    world.synthesise_all()
    world.frames(5)
    world.speech()
    world.fire("overlap")
    world.settle()
    finish(world, 300.0, 0.1)
    world.play_all()
    assert world.state.memory.history[-1].content == rest


def test_who_is_never_understood_is_not_hung_up_on_for_ten_silence_times() -> None:
    world = call()
    began_ms = world.now_ms
    while not world.ended and world.now_ms - began_ms < 20 * TIMEOUT_MS:
        world.now_ms += 20_000
        if world.timers.get("silence", world.now_ms + 1) <= world.now_ms:
            world.fire("silence")
            world.play_all()
        if not world.ended:
            mumble(world)
    assert 9 * TIMEOUT_MS < world.now_ms - began_ms < 14 * TIMEOUT_MS
    assert world.ended == "silence"


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_every_language_has_its_phrases(code: str) -> None:
    world = World(Rules(language=code, transfers=True))
    world.begin()
    sayings = LANGUAGES[code].sayings
    for _ in range(3):
        mumble(world)
    assert " ".join(said(world)) == f"{sayings.not_understood} {sayings.not_understood} {sayings.offer_person}"


turns = st.lists(
    st.tuples(
        st.sampled_from([200.0, 900.0, 1600.0, 4000.0]),
        st.sampled_from([None, 0.1, 0.9]),
        st.sampled_from(["", "", "", "One."]),
        st.booleans(),
    ),
    max_size=25,
)


@given(turns, st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_it_is_never_said_three_times_in_a_row(
    sounds: list[tuple[float, float | None, str, bool]], person: bool, heard: bool
) -> None:
    world = call(transfers=person)
    for voiced_ms, chance, words, failed in sounds:
        if world.ended:
            return
        mumble(world, voiced_ms, chance, words=words, failed=failed, heard=heard)
        world.answer("All right.")
    in_a_row = 0
    for text in said(world):
        in_a_row = in_a_row + 1 if text in (AGAIN, SORRY) else 0
        assert in_a_row <= 2
    assert all(times <= 2 or answer in ("offer", "check_in", "nothing") for times, answer in marks(world))
