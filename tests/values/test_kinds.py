"""Kinds of values: what each hears in the caller's words, whole, in part, corrected, or not at all."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.kinds import KINDS, kind


def whole(value: str, *, doubtful: bool = False) -> HeardValue:
    return HeardValue(value, about_it=True, doubtful=doubtful)


def part(digits: str) -> HeardValue:
    return HeardValue(partial=digits, about_it=True)


CHOICES = {"choices": {"cheese": ["gouda"], "ham": []}}


@pytest.mark.parametrize(
    ("name", "said", "so_far", "heard"),
    [
        ("phone", "My number is 030 1234567.", "", whole("0301234567")),
        ("phone", "030", "", part("030")),
        ("phone", "12 34", "030", whole("0301234")),
        ("phone", "+49 171 2345678", "", whole("+491712345678")),
        ("phone", "No, 030 7654321", "0301234567", whole("0307654321")),
        ("phone", "No, five at the end", "0301234567", UNCLEAR),
        ("phone", "No.", "0301234567", ELSEWHERE),
        ("phone", "For 2 people", "", ELSEWHERE),
        ("phone", "0301234567 0301234567", "", UNCLEAR),
        ("phone", "Why do you need that?", "", ELSEWHERE),
        ("digits", "four seven one", "", part("471")),
        ("digits", "02", "471", whole("47102")),
        ("digits", "4710299", "", UNCLEAR),
        ("digits", "Not that one", "", ELSEWHERE),
        ("name", "My name is Anna Weber.", "", whole("Anna Weber")),
        ("name", "Weber", "", whole("Weber", doubtful=True)),
        ("name", "W-E-B-E-R", "", whole("Weber")),
        ("name", "No, M A Y E R", "Anna Maier", whole("Anna Mayer")),
        ("name", "What for?", "", ELSEWHERE),
        ("name", "Can you do it today", "", ELSEWHERE),
        ("email", "anna.weber@example.com", "", whole("anna.weber@example.com")),
        ("email", "It's anna dot weber at example dot com.", "", whole("anna.weber@example.com")),
        ("email", "A N N A at example dot co dot uk", "", whole("anna@example.co.uk")),
        ("email", "anna underscore weber 82 at my dash shop dot com please", "", whole("anna_weber82@my-shop.com")),
        ("email", "anna at", "", part("anna@")),
        ("email", "example dot com", "anna@", whole("anna@example.com")),
        ("email", "No, bea at example dot com", "anna@example.com", whole("bea@example.com")),
        ("email", "I have none", "", ELSEWHERE),
        ("money", "$12.50", "", whole("12.50")),
        ("money", "1,200 euros", "", whole("1200.00")),
        ("money", "twelve fifty", "", whole("12.50", doubtful=True)),
        ("money", "A lot", "", ELSEWHERE),
        ("address", "12 Main Street, Springfield.", "", whole("12 Main Street, Springfield", doubtful=True)),
        ("address", "Where do you live?", "", ELSEWHERE),
        ("choice", "The ham, please", "", whole("ham")),
        ("choice", "Gouda", "", whole("cheese")),
        ("choice", "Ham and cheese", "", UNCLEAR),
        ("choice", "What is there?", "", ELSEWHERE),
        ("yes_no", "Yes, please", "", whole("yes")),
        ("yes_no", "No", "", whole("no")),
        ("yes_no", "Yes but only tomorrow after lunch", "", whole("yes", doubtful=True)),
        ("yes_no", "What?", "", ELSEWHERE),
    ],
)
def test_a_kind_hears_its_value(name: str, said: str, so_far: str, heard: HeardValue) -> None:
    frame = Frame("en", options=CHOICES if name == "choice" else {"length": 5})
    assert kind(name).hear(said, so_far, frame) == heard


@pytest.mark.parametrize("code", sorted(LANGUAGES))
@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_has_a_question_in_every_language(code: str, name: str) -> None:
    assert LANGUAGES[code].values.ask[name]
    assert "{value}" in LANGUAGES[code].values.read_back


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("phone", "0301234567", "0 3 0, 1 2 3, 4 5 6 7"),
        ("name", "Anna Weber", "Anna Weber, W, E, B, E, R"),
        ("choice", "ham", "ham"),
    ],
)
def test_a_value_is_written_to_be_read_back(name: str, value: str, read: str) -> None:
    assert kind(name).confirm(value, Frame("en")) == read
