"""Written text to spoken text: what is said, and that no written word is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.text_normalization.reading import IPA_BEGIN, IPA_END, Reading, marked, unmarked

ENGLISH = Reading()


def ipa(*words: str) -> str:
    return " ".join(f"{IPA_BEGIN}{word}{IPA_END}" for word in words)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("It costs $12.50 today.", "It costs twelve dollars fifty today."),
        ("$1, €0.99 or £12.05?", "one dollar, ninety-nine cents or twelve pounds and five pence?"),
        ("$1.2 million and 5-10 EUR", "one point two million dollars and five to ten euros"),
        ("($1,250,000)", "(one million two hundred and fifty thousand dollars)"),
        ("at 3:30 pm.", "at three thirty P M."),
        ("10:05, 9:00 and 15:00", "ten oh five, nine o'clock and fifteen hundred"),
        ("9 a.m. tomorrow", "nine eigh M tomorrow"),
        ("on 2026-11-21", "on November twenty-first, twenty twenty-six"),
        ("Nov. 3, 1984", "November third, nineteen eighty-four"),
        ("the 21st of May, not 3 June", "the twenty-first of May, not the third of June"),
        ("21/11/2026 or 3.4.2026", "November twenty-first, twenty twenty-six or April third, twenty twenty-six"),
        ("It is -5 °C, 20° or 50%.", "It is minus five degrees Celsius, twenty degrees or fifty percent."),
        ("1 km, 5-10 km at 30 km/h", "one kilometer, five to ten kilometers at thirty kilometers per hour"),
        ("1,250 people, the 3rd, in the 1990s", "one thousand two hundred and fifty people, the third, in the nineteen nineties"),
        ("Order 48271, room 101, code 007", "Order four eight two seven one, room one hundred and one, code zero zero seven"),
        ("AB-48271", "eigh B, four eight two seven one"),
        ("Gate-12", "Gate, twelve"),
        ("+1 415 555 2671", "plus one, four one five, five five five, two six seven one"),
        ("Write to jo.smith@example.com.", "Write to jo dot smith at example dot com."),
        ("https://example.org/faq", "example dot org slash faq"),
        ("al@bbc.co.uk, x9@mail.de", "al at B B C dot co dot U K, X nine at mail dot D E"),
        ("1/2 of 3.14", "one half of three point one four"),
        ("4 + 4 = 8", "four plus four equals eight"),
        ("No. 5 & #6", "number five and number six"),
        ("Dr. Smith", "Doctor Smith"),
        ("Hello, how can I help you?", "Hello, how can I help you?"),
        ("", ""),
    ],
)
def test_written_forms_are_read_as_people_read_them(written: str, said: str) -> None:
    spoken = ENGLISH.spoken(written)
    assert spoken.said == said
    assert list(spoken.written) == written.split()


def test_where_the_day_stands_is_a_setting() -> None:
    assert Reading(day_first=True).spoken("3/4/2026").said == "April third, twenty twenty-six"
    assert ENGLISH.spoken("3/4/2026").said == "March fourth, twenty twenty-six"


@pytest.mark.parametrize("text", ["45/99/2026", "25:99", "2026-13-45", "99 Nov", "3,4,5", "1.2.3.4", "--", "$", "@"])
def test_what_is_no_date_or_time_loses_no_word(text: str) -> None:
    assert list(ENGLISH.spoken(text).written) == text.split()


PARTS = [
    "$12.50",
    "3:30",
    "pm",
    "Nov",
    "21,",
    "2026",
    "(5",
    "km)",
    "AB-48271",
    "1",
    "-",
    "10",
    "a@b.co",
    "Nguyen's",
    "hi.",
    "°C",
    "%",
]


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=8)), max_size=12))
def test_no_written_word_is_lost_and_none_is_silent(words: list[str]) -> None:
    text = " ".join(words)
    spoken = Reading(lexicon={"Nguyen": "wɪn"}).spoken(text, ("48271", "AB-48271"))
    assert list(spoken.written) == text.split()
    assert all(piece.said.split() for piece in spoken.pieces)


def test_what_would_be_said_at_too_great_a_length_is_left_as_it_is_written() -> None:
    text = " ".join(["7" * 80] * 24)
    assert ENGLISH.spoken(text).said == text


def test_a_word_of_the_lexicon_is_phonemes_with_its_punctuation_inside() -> None:
    reading = Reading(lexicon={"nguyen": "wˈɪn", "New Cairo": "njˈuː kˈaɪɹoʊ"})
    assert reading.spoken("Mr. Nguyen, hello").said == f"Mister {ipa('wˈɪn,')} hello"
    assert reading.spoken("NGUYEN’S car").said == f"{ipa('wˈɪnz')} car"
    assert reading.spoken("(Nguyen)").said == f"({ipa('wˈɪn')})"
    assert reading.spoken("New Cairo.").said == ipa("njˈuː", "kˈaɪɹoʊ.")
    assert reading.spoken("Nguyens").said == "Nguyens"


@pytest.mark.parametrize(
    ("exact", "said"),
    [
        ("AB-48271", "eigh B, four eight two seven one"),
        ("HELLO", "H E L L O"),
        ("AB 12", "eigh B, one two"),
        ("2026", "two zero two six"),
        ("jo_42@mail.example.com", "jo underscore four two at mail dot example dot com"),
        ("X#7", "X hash seven"),
    ],
)
def test_what_is_marked_is_said_to_the_letter(exact: str, said: str) -> None:
    spoken = ENGLISH.spoken(f"It is {exact}, yes.", (exact,))
    assert spoken.said == f"It is {said}, yes."
    assert list(spoken.written) == f"It is {exact}, yes.".split()


def test_a_respelled_word_is_said_by_the_words_that_are_read_like_it_unless_the_lexicon_has_it() -> None:
    reading = Reading(lexicon={"Nguyen": "wˈɪn"}, respelled={"Schillerallee": "Shiller alley", "Nguyen": "new yen"})
    assert reading.spoken("Schillerallee's end, Schillerallee.").said == "Shiller alley's end, Shiller alley."
    assert "wˈɪn" in reading.spoken("Doctor Nguyen").said


def test_another_language_is_left_to_the_voice_but_for_the_lexicon_and_what_is_marked() -> None:
    reading = Reading(language="", lexicon={"Nguyen": "wɪn"})
    assert reading.spoken("Nguyen zahlt 12,50 €.").said == f"{ipa('wɪn')} zahlt 12,50 €."
    assert not re.search(r"\d", reading.spoken("Code 48271.", ("48271",)).said)


def test_marks_are_taken_out_and_what_they_mark_is_known() -> None:
    text = '{"order": "<verbatim>AB-48271</verbatim>", "to": "<verbatim> jo@example.com </verbatim>"}'
    assert unmarked(text) == '{"order": "AB-48271", "to": "jo@example.com"}'
    assert marked(text) == ("AB-48271", "jo@example.com")


def test_what_is_no_mark_stays() -> None:
    text = "<verbatim></verbatim> <verbatim>" + "x" * 65 + "</verbatim> <b>"
    assert unmarked(text) == text
    assert marked(text) == ()
