"""What words, voice and the turn judges say about a pause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.turn_taking.endpoint_weights import TRAINED
from voiceagent.turn_taking.endpointing import (
    BY_WORDS,
    ENDPOINTING_MANNERS,
    WITHOUT_JUDGES,
    EndpointingDelays,
    EndpointModel,
    Habit,
    PauseEvidence,
    Prosody,
    features,
)
from voiceagent.turn_taking.language import UNKNOWN, Language
from voiceagent.turn_taking.languages.de import GERMAN
from voiceagent.turn_taking.languages.en import ENGLISH

MODEL = EndpointModel()
FALLING, LEVEL = Prosody(4.0, 4.0), Prosody(0.2, 0.0)
SHORTEST_MS, LONGEST_MS = 200.0, 2000.0


ENDING, OPEN = {"ear": 0.95, "meaning": 0.8}, {"ear": 0.05, "meaning": 0.001}


def holds(
    words: str,
    prosody: Prosody = FALLING,
    asked: str = "",
    voiced_ms: float = 1500.0,
    judged: Mapping[str, float] | None = None,
    language: Language = ENGLISH,
) -> EndpointingDelays:
    evidence = PauseEvidence(words, asked, voiced_ms, prosody, judged=judged or {})
    model = MODEL if judged else WITHOUT_JUDGES
    return model.delays(evidence, language, shortest_ms=SHORTEST_MS, longest_ms=LONGEST_MS)


@pytest.mark.parametrize("judged", [ENDING, {}])
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("Can you call me back tomorrow morning?", ""),
        ("I would like to talk to somebody about my invoice.", ""),
        ("Where is the nearest station?", ""),
        ("Yes, that's fine.", "Is that okay for you?"),
        ("No, thank you.", "Is there anything else I can do?"),
    ],
)
def test_what_is_finished_is_committed_soon(words: str, asked: str, judged: Mapping[str, float]) -> None:
    assert holds(words, asked=asked, judged=judged).endpoint_ms <= (700 if judged else 450)


@pytest.mark.parametrize("judged", [OPEN, {}])
@pytest.mark.parametrize("prosody", [FALLING, LEVEL])
@pytest.mark.parametrize(
    "words", ["I want to", "Please connect me with", "My name is", "I lost my", "I was wondering if", "So, um", "It's J-O-H"]
)
def test_what_plainly_goes_on_is_waited_for_whatever_the_voice_does(
    words: str, prosody: Prosody, judged: Mapping[str, float]
) -> None:
    assert holds(words, prosody, judged=judged).endpoint_ms >= (900 if judged else 650)


def test_judges_who_hear_an_end_shorten_the_wait() -> None:
    ending, none, opened = (holds("I am calling about the leaflet", judged=judged).endpoint_ms for judged in (ENDING, {}, OPEN))
    assert ending < opened - 150
    assert none < opened - 150


@pytest.mark.parametrize("name", ["ear", "meaning"])
def test_one_judge_alone_counts(name: str) -> None:
    words = "I am calling about the leaflet"
    sure, unsure = ({name: judged[name]} for judged in (ENDING, OPEN))
    assert holds(words, judged=sure).endpoint_ms < holds(words, judged=unsure).endpoint_ms


def test_a_value_that_may_go_on_is_waited_for() -> None:
    said = "The number on the back is"
    assert holds(f"{said} 4 0", LEVEL).endpoint_ms > holds(f"{said} missing", LEVEL).endpoint_ms


def test_the_progress_of_a_value_that_was_asked_for_shifts_the_delay() -> None:
    digits = PauseEvidence("The number on the back is 4 0", "", 1500.0, LEVEL, judged={"ear": 0.99, "meaning": 0.9})
    open_ms, growing_ms, whole_ms = (
        MODEL.delays(replace(digits, value=value), ENGLISH, shortest_ms=0, longest_ms=9000).endpoint_ms
        for value in ("open", "growing", "whole")
    )
    assert open_ms > growing_ms > whole_ms


def test_letters_are_a_value_however_they_are_written() -> None:
    written = [PauseEvidence(f"It's {name}", "", 900.0, LEVEL) for name in ("J O H N", "J-O-H-N", "J.O.H.N.", "J, O, H, N")]
    assert {features(one, ENGLISH)["value_size"] for one in written} == {4 / 12}


def test_the_classes_of_words_are_the_languages() -> None:
    question = "Soll ich das so eintragen?"
    german = features(PauseEvidence("Ja, gerne", question, 600.0, LEVEL), GERMAN)
    assert german["asked_yes_or_no"] == 1.0
    assert features(PauseEvidence("Ich suche die", "", 900.0, LEVEL), GERMAN)["unfinished"] == 1.0
    assert features(PauseEvidence("Ja, gerne", question, 600.0, LEVEL), ENGLISH)["asked_yes_or_no"] == 0.0


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("Thank you.", ENGLISH),
        ("No, thank you.", ENGLISH),
        ("Can you send it? Thank you.", ENGLISH),
        ("How are you?", ENGLISH),
        ("Okay, bye.", ENGLISH),
        ("Vielen Dank.", GERMAN),
        ("Nein, das war's.", GERMAN),
    ],
)
def test_a_fixed_expression_is_a_whole_turn_whatever_its_last_word_is(words: str, language: Language) -> None:
    found = features(PauseEvidence(words, "", 700.0, LEVEL), language)
    assert (found["whole_turn"], found["unfinished"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    "words",
    [
        "Yes.",
        "Hello.",
        "Please thank",
        "I will call you",
        "I see you",
        "Thank you for",
        "What is it for you",
        "Never mind the price.",
    ],
)
def test_what_only_contains_one_or_begins_longer_turns_is_none(words: str) -> None:
    assert features(PauseEvidence(words, "", 700.0, LEVEL), ENGLISH)["whole_turn"] == 0.0


@pytest.mark.parametrize("words", ["Thank you.", "How are you?", "Goodbye."])
def test_a_fixed_expression_of_ones_own_accord_is_committed_soon(words: str) -> None:
    assert holds(words, voiced_ms=500.0).endpoint_ms <= 900
    assert holds(words, voiced_ms=500.0).endpoint_ms + 300 < holds("Green bananas", voiced_ms=500.0).endpoint_ms
    unsure = {"ear": 0.6}
    assert holds(words, voiced_ms=500.0, judged=unsure).endpoint_ms <= 700
    assert holds(words, voiced_ms=500.0, judged=unsure).endpoint_ms + 150 < holds("Green bananas", judged=unsure).endpoint_ms


def test_without_a_language_judges_and_voice_decide() -> None:
    ending, opened = (holds("Haluaisin puhua jonkun kanssa", judged=judged, language=UNKNOWN) for judged in (ENDING, OPEN))
    assert ending.endpoint_ms < opened.endpoint_ms


def test_marks_of_other_scripts_close_a_sentence() -> None:
    marks = {text: features(PauseEvidence(text, "", 900.0, LEVEL), UNKNOWN) for text in ("はい。", "هل أنت هنا؟", "나는,")}
    assert [name for found in marks.values() for name in ("mark_sentence", "mark_question", "mark_open") if found[name]] == [
        "mark_sentence",
        "mark_question",
        "mark_open",
    ]


@pytest.mark.parametrize(
    "words",
    ["Set a timer for ten minutes.", "I would like to return the blue jacket.", "Please send the tow truck to the harbor."],
)
@pytest.mark.parametrize(("model", "judged"), [(MODEL, {"ear": 0.5}), (WITHOUT_JUDGES, {})])
def test_a_request_that_calls_a_tool_is_committed_sooner(words: str, model: EndpointModel, judged: Mapping[str, float]) -> None:
    known, unknown = (
        model.delays(
            PauseEvidence(words, "", 1500.0, LEVEL, judged=judged, calls_tool=calls), ENGLISH, shortest_ms=200, longest_ms=2100
        )
        for calls in (True, False)
    )
    assert 200 < known.endpoint_ms < 0.8 * unknown.endpoint_ms


def test_a_speculative_reply_is_begun_at_once_where_an_end_is_likely() -> None:
    assert holds("Where is the nearest station?").eager_ms == 0


@given(
    words=st.text(max_size=60) | st.lists(st.sampled_from(["to", "4", "7:30", "PM.", "table", "thank", "you?"])).map(" ".join),
    asked=st.text(max_size=30) | st.just("For which day and time?"),
    pitch_st=st.none() | st.floats(-50, 50),
    energy_db=st.floats(-90, 90),
    voiced_ms=st.floats(0, 1e6),
    ear=st.none() | st.floats(0, 1),
)
def test_any_evidence_gives_holds_within_their_bounds(
    words: str, asked: str, pitch_st: float | None, energy_db: float, voiced_ms: float, ear: float | None
) -> None:
    found = holds(words, Prosody(pitch_st, energy_db), asked, voiced_ms, {"ear": ear, "meaning": 1 - ear} if ear else {})
    assert 0 <= found.eager_ms <= found.endpoint_ms
    assert SHORTEST_MS <= found.endpoint_ms <= LONGEST_MS


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_sooner(one: float, other: float) -> None:
    surer, less = max(one, other), min(one, other)
    assert MODEL.delays_for(surer, 200, 2000).endpoint_ms <= MODEL.delays_for(less, 200, 2000).endpoint_ms


def test_every_feature_has_a_weight() -> None:
    texts = ["", "Set it down.", "It is at 7", "Yes!", "What's on in", "Thank you."]
    found = {name for text in texts for name in features(PauseEvidence(text, "For which day?", 900.0, LEVEL), ENGLISH)}
    assert found - set(TRAINED) - set(BY_WORDS) <= {"no_words"}
    assert set(TRAINED) | set(BY_WORDS) <= found


@pytest.mark.parametrize("ear", [0.02, 0.3, 0.6, 0.99])
@pytest.mark.parametrize(
    "words", ["Yes.", "Okay", "No, that's all.", "Thank you so much.", "Yes, okay, bye.", "Yes, that's right."]
)
def test_an_answer_that_is_whole_is_never_waited_for_long(words: str, ear: float) -> None:
    assert holds(words, judged={"ear": ear, "meaning": 0.001}).endpoint_ms <= 700


@pytest.mark.parametrize("words", ["Yes, I", "Okay so", "No, that's all I", "Um"])
def test_what_only_begins_with_an_answer_is_waited_for_as_ever(words: str) -> None:
    assert holds(words, judged={"ear": 0.05, "meaning": 0.001}).endpoint_ms > 1000


def test_an_answer_is_waited_for_while_a_value_is_being_dictated() -> None:
    dictating = PauseEvidence("No", "", 900.0, LEVEL, value="growing", judged={"ear": 0.1})
    assert MODEL.delays(dictating, ENGLISH, shortest_ms=200, longest_ms=2100).endpoint_ms > 1000


def test_the_language_model_is_not_believed_of_a_few_words() -> None:
    judged = [{"ear": 0.9, "meaning": chance} for chance in (0.9, 0.001)]
    assert len({holds("Green bananas please", judged=one).endpoint_ms for one in judged}) == 1
    assert len({holds("I would like some green bananas", judged=one).endpoint_ms for one in judged}) == 2


def test_the_manners_differ_by_how_long_they_wait() -> None:
    pause = PauseEvidence("I would like to move my appointment", "", 1500.0, LEVEL, judged={"ear": 0.6, "meaning": 0.1})
    delays = [
        EndpointModel(risk=manner.risk)
        .delays(pause, ENGLISH, shortest_ms=manner.min_delay_ms, longest_ms=manner.max_delay_ms)
        .endpoint_ms
        for manner in (ENDPOINTING_MANNERS["brisk"], ENDPOINTING_MANNERS["balanced"], ENDPOINTING_MANNERS["patient"])
    ]
    assert sorted(set(delays)) == delays


def delay_ms(habit: Habit) -> float:
    pause = PauseEvidence("I would like to move my appointment", "", 1500.0, Prosody(), judged={"ear": 0.7}, habit=habit)
    return EndpointModel().delays(pause, ENGLISH, shortest_ms=200, longest_ms=2100).endpoint_ms


def test_nothing_is_known_at_first() -> None:
    assert Habit().log_odds == 0.0


def test_a_caller_who_has_paused_inside_turns_is_waited_for_longer_than_one_who_has_not() -> None:
    assert delay_ms(Habit(0, 5)) < delay_ms(Habit()) < delay_ms(Habit(5, 0))


@pytest.mark.parametrize("pauses", [1, 2])
def test_a_single_pause_moves_the_delay_by_little(pauses: int) -> None:
    assert delay_ms(Habit(pauses, 0)) < 1.5 * delay_ms(Habit())


@given(went_on=st.integers(0, 1000), ended=st.integers(0, 1000))
def test_more_pauses_that_went_on_make_an_end_less_likely(went_on: int, ended: int) -> None:
    assert Habit(went_on + 1, ended).log_odds < Habit(went_on, ended).log_odds < Habit(went_on, ended + 1).log_odds
