"""Numbers are the same number however they are said or written, and times of day the same time."""

import pytest

from voiceagent.grounding.language import ENGLISH
from voiceagent.grounding.words import clocks, one_clock, words_of


def texts(text: str) -> list[str]:
    return [word.text for word in words_of(text, ENGLISH)]


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("twenty-five", ["25"]),
        ("a hundred and twenty-five", ["a", "125"]),
        ("one hundred and twenty five", ["125"]),
        ("two thousand", ["2000"]),
        ("the third of May", ["the", "3", "of", "may"]),
        ("May 3rd", ["may", "3"]),
        ("May twenty-first", ["may", "21"]),
        ("1,250 people", ["1250", "people"]),
        ("four eight two one three", ["4", "8", "2", "1", "3"]),
        ("7 p.m., please", ["7", "pm", "please"]),
        ("7:30pm", ["7:30", "pm"]),
        ("Anna’s haircuts", ["anna", "haircut"]),
        ("75 - 98", ["75", "-", "98"]),
        ("check-in", ["check", "in"]),
    ],
)
def test_a_number_is_the_same_in_words_and_in_digits(said: str, heard: list[str]) -> None:
    assert texts(said) == heard


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("at seven thirty", "7:30"),
        ("seven oh five", "7:05"),
        ("half past nine", "9:30"),
        ("half nine", "9:30"),
        ("a quarter to eight in the morning", "7:45 AM"),
        ("quarter past 6 p.m.", "6:15 PM"),
        ("ten to nine", "8:50"),
        ("seven tonight", "7 PM"),
        ("at 7 o'clock", "7"),
        ("noon", "12 PM"),
        ("19:30", "7:30 PM"),
        ("7.30 PM", "7:30 PM"),
    ],
)
def test_a_time_is_the_same_however_it_is_said(said: str, written: str) -> None:
    (found,) = clocks(words_of(said, ENGLISH), ENGLISH)
    assert found.written(ENGLISH) == written


@pytest.mark.parametrize("text", ["7", "a table for two", "Oslo", "", "8 or 9 PM", "order 48271"])
def test_what_is_no_single_time_is_none(text: str) -> None:
    assert one_clock(text, ENGLISH) is None
