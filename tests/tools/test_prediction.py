import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.tools import prediction as room
from voiceagent.tools.decorator import tool
from voiceagent.tools.prediction import ToolPredictor
from voiceagent.tools.toolset import ToolSet

NO_CHOICES: dict[str, Any] = {"type": "object", "properties": {"order_number": {"type": "string"}}}
KINDS: dict[str, Any] = {"type": "object", "properties": {"kind": {"type": "string", "enum": ["table", "room"]}}}


@tool(effect="none")
async def book(people: int, member: str = "", kind: Literal["inside", "outside"] | None = None) -> str:
    """Book a table.

    people: how many come
    member: the member's number
    kind: where
    """
    return f"{people} {member} {kind}"


ORDER = ("Where is order 48271, please?", "get_order", '{"order_number": "48271"}')


@pytest.fixture
def predictor() -> ToolPredictor:
    """It has seen two calls that asked for an order, and two for a table."""
    seen = ToolPredictor()
    for number in ("48271", "11223"):
        seen.learn(f"Where is order {number}, please?", "get_order", json.dumps({"order_number": number}), NO_CHOICES)
    for people, day in ((4, "Friday"), (2, "next Monday")):
        given = json.dumps({"people": people, "day": day, "kind": "table"})
        seen.learn(f"Book a table for {people} on {day} at noon.", "book", given, KINDS)
    return seen


def test_a_pattern_predicts_once_its_arguments_are_there(predictor: ToolPredictor) -> None:
    assert predictor.predict("Where is order") is None
    assert predictor.predict("where is order 99") == ("get_order", '{"order_number": "99"}')
    assert predictor.predict("Where is order 99821 please") == ("get_order", '{"order_number": "99821"}')


def test_arguments_keep_their_kinds_and_what_was_not_said(predictor: ToolPredictor) -> None:
    assert predictor.predict("Book a table for 7 on Sunday at noon") is None
    given = '{"people": 3, "day": "Sunday", "kind": "table"}'
    predictor.learn("Book a table for 3 on Sunday at noon", "book", given, KINDS)
    predicted = predictor.predict("Book a table for 7 on Tuesday at")
    assert predicted is not None
    assert (predicted[0], json.loads(predicted[1])) == ("book", {"people": 7, "day": "Tuesday", "kind": "table"})


def test_a_number_that_was_never_said_is_not_predicted_though_two_other_calls_had_it() -> None:
    tools = ToolSet([book])
    for people in (4, 6, 3):
        tools.learn(f"Book a table for {people}", "book", json.dumps({"people": people, "member": "Ana-4711"}))
    assert tools.predictor.predict("Book a table for 2") is None
    assert "4711" not in str(vars(tools.predictor))


def test_a_choice_of_the_schema_is_predicted_though_it_was_not_said() -> None:
    tools = ToolSet([book])
    for people in (4, 6):
        tools.learn(f"Book a table for {people}", "book", json.dumps({"people": people, "kind": "outside"}))
    predicted = tools.predictor.predict("Book a table for 2")
    assert predicted is not None
    assert (predicted[0], json.loads(predicted[1])) == ("book", {"people": 2, "kind": "outside"})


UNSAID = st.text(max_size=8) | st.integers() | st.booleans() | st.none() | st.sampled_from(["inside", "outside", "Ana", "2"])


@given(st.lists(st.fixed_dictionaries({"people": st.sampled_from([2, 3]), "member": UNSAID, "kind": UNSAID}), max_size=8))
def test_nothing_is_predicted_but_what_was_said_and_choices_of_the_schema(lessons: list[dict[str, Any]]) -> None:
    tools = ToolSet([book])
    for given_ in lessons * 2:
        tools.learn(f"Book a table for {given_['people']} for Ana", "book", json.dumps(given_))
    words = "Book a table for 5 for Ben"
    predicted = tools.predictor.predict(words)
    values = json.loads(predicted[1]).values() if predicted is not None else ()
    assert all(value in ("inside", "outside") or f" {value} " in f" {words} " for value in values)


@pytest.mark.parametrize("words", ["", "Where", "Where was order 5 please", "Book a table for me on Friday at noon"])
def test_other_words_predict_nothing(predictor: ToolPredictor, words: str) -> None:
    assert predictor.predict(words) is None


def test_a_sign_that_only_looks_like_a_number_is_none(predictor: ToolPredictor) -> None:
    assert predictor.predict("Book a table for ² on Tuesday at") is None
    assert predictor.predict("Book a table for ① on Tuesday at") is None


def learned(*lessons: tuple[str, str, str]) -> ToolPredictor:
    """It has seen each twice."""
    seen = ToolPredictor()
    for lesson in lessons * 2:
        seen.learn(*lesson, NO_CHOICES)
    return seen


def test_a_sentence_without_arguments_predicts_as_soon_as_it_is_unmistakable() -> None:
    predictor = learned(("What time is it, please?", "get_time", "{}"), ("What time do you close?", "get_hours", "{}"))
    assert predictor.predict("What time") is None
    assert predictor.predict("What time is it") == ("get_time", "{}")
    assert predictor.predict("What time do you") == ("get_hours", "{}")


def test_a_sentence_that_may_still_name_an_argument_predicts_nothing() -> None:
    lessons = ("What time is it, please?", "get_time", "{}"), ("What time is it in Rome?", "get_time", '{"city": "Rome"}')
    predictor = learned(*lessons)
    assert predictor.predict("What time is it") is None
    assert predictor.predict("What time is it in") is None
    assert predictor.predict("What time is it in Oslo") == ("get_time", '{"city": "Oslo"}')


def test_of_the_patterns_that_fit_the_longest_counts() -> None:
    lessons = (
        ("The weather in Rome on Friday, please.", "get_weather", '{"city": "Rome", "day": "Friday"}'),
        ("The weather in Rome.", "get_weather", '{"city": "Rome"}'),
    )
    predicted = learned(*lessons).predict("The weather in Oslo on Monday")
    assert predicted is not None
    assert json.loads(predicted[1]) == {"city": "Oslo", "day": "Monday"}


def test_what_another_talk_was_about_is_not_learned() -> None:
    assert learned(("Where is my order?", "get_order", ORDER[2])).predict("Where is my order") is None


def test_once_is_not_enough() -> None:
    predictor = ToolPredictor()
    predictor.learn(*ORDER, NO_CHOICES)
    assert predictor.predict("Where is order 1 please") is None


@pytest.mark.parametrize("arguments", ["", "{", "[]", "{}", '{"order_number": null}', '{"order_number": ""}'])
def test_what_teaches_nothing_is_not_kept(arguments: str) -> None:
    predictor = ToolPredictor()
    for _ in range(3):
        predictor.learn("Where is my order?", "get_order", arguments, NO_CHOICES)
    assert predictor.predict("Where is my order now?") is None


def test_patterns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_PATTERNS", 3)
    predictor = ToolPredictor()
    for thing in ("a", "b", "c", "d"):
        for _ in range(2):
            predictor.learn(f"{thing} of order 48271 please", "get_order", ORDER[2], NO_CHOICES)
    assert predictor.predict("a of order 1 please") is None
    assert predictor.predict("d of order 1 please") is not None


def test_how_long_a_tool_takes_follows_its_latest_runs() -> None:
    predictor = ToolPredictor()
    assert predictor.typical_ms("get_order") == 0.0
    predictor.took("get_order", 800.0)
    assert predictor.typical_ms("get_order") == 800.0
    for _ in range(20):
        predictor.took("get_order", 5.0)
    assert 5.0 < predictor.typical_ms("get_order") < 10.0
