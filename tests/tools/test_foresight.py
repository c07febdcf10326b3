import json

import pytest

from voiceagent.tools import foresight as room
from voiceagent.tools.foresight import Foresight

ORDER = ("Where is order 48271, please?", "get_order", '{"order_number": "48271"}')


@pytest.fixture
def foresight() -> Foresight:
    """It has seen two calls that asked for an order, and two for a table."""
    seen = Foresight()
    for number in ("48271", "11223"):
        seen.learn(number, f"Where is order {number}, please?", "get_order", json.dumps({"order_number": number}))
    for people, day in ((4, "Friday"), (2, "next Monday")):
        given = json.dumps({"people": people, "day": day, "kind": "table"})
        seen.learn(day, f"Book a table for {people} on {day} at noon.", "book", given)
    return seen


def test_a_pattern_predicts_once_its_arguments_are_there(foresight: Foresight) -> None:
    assert foresight.predict("now", "Where is order") is None
    assert foresight.predict("now", "where is order 99") == ("get_order", '{"order_number": "99"}')
    assert foresight.predict("now", "Where is order 99821 please") == ("get_order", '{"order_number": "99821"}')


def test_arguments_keep_their_kinds_and_what_was_not_said(foresight: Foresight) -> None:
    assert foresight.predict("now", "Book a table for 7 on Sunday at noon") is None
    foresight.learn("third", "Book a table for 3 on Sunday at noon", "book", '{"people": 3, "day": "Sunday", "kind": "table"}')
    predicted = foresight.predict("now", "Book a table for 7 on Tuesday at")
    assert predicted is not None
    assert (predicted[0], json.loads(predicted[1])) == ("book", {"people": 7, "day": "Tuesday", "kind": "table"})


def test_what_a_caller_did_not_say_is_foreseen_for_another_only_when_a_third_had_the_same() -> None:
    foresight = Foresight()
    for people in (4, 6):
        foresight.learn("Ana's", f"Book a table for {people}", "book", json.dumps({"people": people, "member": "Ana-4711"}))
    ours = ("book", '{"member": "Ana-4711", "people": 2}')
    assert foresight.predict("Ana's", "Book a table for 2") == ours
    assert foresight.predict("Ben's", "Book a table for 2") is None
    foresight.learn("Cleo's", "Book a table for 3", "book", '{"people": 3, "member": "Ana-4711"}')
    assert foresight.predict("Ben's", "Book a table for 2") == ours


@pytest.mark.parametrize("words", ["", "Where", "Where was order 5 please", "Book a table for me on Friday at noon"])
def test_other_words_predict_nothing(foresight: Foresight, words: str) -> None:
    assert foresight.predict("now", words) is None


def test_a_sign_that_only_looks_like_a_number_is_none(foresight: Foresight) -> None:
    assert foresight.predict("now", "Book a table for ² on Tuesday at") is None
    assert foresight.predict("now", "Book a table for ① on Tuesday at") is None


def learned(*lessons: tuple[str, str, str]) -> Foresight:
    """It has seen each twice."""
    seen = Foresight()
    for lesson in lessons * 2:
        seen.learn("before", *lesson)
    return seen


def test_a_sentence_without_arguments_predicts_as_soon_as_it_is_unmistakable() -> None:
    foresight = learned(("What time is it, please?", "get_time", "{}"), ("What time do you close?", "get_hours", "{}"))
    assert foresight.predict("now", "What time") is None
    assert foresight.predict("now", "What time is it") == ("get_time", "{}")
    assert foresight.predict("now", "What time do you") == ("get_hours", "{}")


def test_a_sentence_that_may_still_name_an_argument_predicts_nothing() -> None:
    lessons = ("What time is it, please?", "get_time", "{}"), ("What time is it in Rome?", "get_time", '{"city": "Rome"}')
    foresight = learned(*lessons)
    assert foresight.predict("now", "What time is it") is None
    assert foresight.predict("now", "What time is it in") is None
    assert foresight.predict("now", "What time is it in Oslo") == ("get_time", '{"city": "Oslo"}')


def test_of_the_patterns_that_fit_the_longest_counts() -> None:
    lessons = (
        ("The weather in Rome on Friday, please.", "get_weather", '{"city": "Rome", "day": "Friday"}'),
        ("The weather in Rome.", "get_weather", '{"city": "Rome"}'),
    )
    predicted = learned(*lessons).predict("now", "The weather in Oslo on Monday")
    assert predicted is not None
    assert json.loads(predicted[1]) == {"city": "Oslo", "day": "Monday"}


def test_what_another_talk_was_about_is_not_learned() -> None:
    assert learned(("Where is my order?", "get_order", ORDER[2])).predict("now", "Where is my order") is None


def test_once_is_not_enough() -> None:
    foresight = Foresight()
    foresight.learn("before", *ORDER)
    assert foresight.predict("now", "Where is order 1 please") is None


@pytest.mark.parametrize("arguments", ["", "{", "[]", "{}", '{"order_number": null}', '{"order_number": ""}'])
def test_what_teaches_nothing_is_not_kept(arguments: str) -> None:
    foresight = Foresight()
    for _ in range(3):
        foresight.learn("before", "Where is my order?", "get_order", arguments)
    assert foresight.predict("now", "Where is my order now?") is None


def test_patterns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_PATTERNS", 3)
    foresight = Foresight()
    for thing in ("a", "b", "c", "d"):
        for _ in range(2):
            foresight.learn("before", f"{thing} of order 48271 please", "get_order", ORDER[2])
    assert foresight.predict("now", "a of order 1 please") is None
    assert foresight.predict("now", "d of order 1 please") is not None


def test_how_long_a_tool_takes_follows_its_latest_runs() -> None:
    foresight = Foresight()
    assert foresight.typical_ms("get_order") == 0.0
    foresight.took("get_order", 800.0)
    assert foresight.typical_ms("get_order") == 800.0
    for _ in range(20):
        foresight.took("get_order", 5.0)
    assert 5.0 < foresight.typical_ms("get_order") < 10.0
