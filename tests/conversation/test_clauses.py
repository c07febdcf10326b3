"""Tokens to speakable pieces, and where sentences end: a table of each language."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.clauses import MAX_CLAUSE_WORDS, ends_plainly, split_clauses
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.languages.en import ENGLISH


def streamed(pieces: list[str]) -> list[str]:
    clauses: list[str] = []
    buffer = ""
    for piece in pieces:
        found, buffer = split_clauses(buffer + piece, first=not clauses, final=False, abbreviations=ENGLISH.abbreviations)
        clauses.extend(found)
    found, buffer = split_clauses(buffer, first=not clauses, final=True)
    assert not buffer
    return clauses + list(found)


def test_sentences_are_clauses() -> None:
    assert streamed(["It is noon. It is ", "hot. Bye"]) == ["It is noon.", "It is hot.", "Bye"]


def test_the_first_clause_may_end_at_a_comma() -> None:
    assert streamed(["Of course, I can do that, sir."]) == ["Of course,", "I can do that, sir."]


def test_times_decimals_and_titles_are_not_cut() -> None:
    assert streamed(["At 7:30 Dr. Smith paid 3.50 euros. Good."]) == ["At 7:30 Dr. Smith paid 3.50 euros.", "Good."]


def test_a_run_on_sentence_is_cut_between_words() -> None:
    clauses = streamed(["word " * 100])
    assert all(len(clause.split()) <= MAX_CLAUSE_WORDS for clause in clauses)


words = st.text(alphabet="ab1.,!? ", max_size=8)


@given(st.lists(words, max_size=40))
def test_no_word_is_lost_or_changed(pieces: list[str]) -> None:
    assert " ".join(streamed(pieces)).split() == "".join(pieces).split()


def test_scripts_without_spaces_have_clauses_too() -> None:
    assert streamed(["好的，我来", "看看。明天是", "晴天！再见"]) == ["好的，我来看看。", "明天是晴天！", "再见"]
    assert streamed(["मौसम अच्छा है। और ", "कुछ?"]) == ["मौसम अच्छा है।", "और कुछ?"]


def test_a_no_is_a_sentence() -> None:
    assert streamed(["No. ", "It is closed."]) == ["No.", "It is closed."]


def test_a_line_end_ends_a_clause() -> None:
    assert streamed(["You need\n", "two eggs\n\n- and", " milk\nThat is all"]) == [
        "You need",
        "two eggs",
        "- and milk",
        "That is all",
    ]
    assert streamed(["Dr.\nSmith"]) == ["Dr.", "Smith"]
    assert split_clauses("You need\n", first=True, final=False) == (("You need",), "")


def test_a_quoted_sentence_is_a_clause() -> None:
    assert streamed(["“We are open.” Come in. «Oui.» Bon"]) == ["“We are open.”", "Come in.", "«Oui.»", "Bon"]


def test_a_long_line_is_cut_before_its_end() -> None:
    clauses = streamed([f"{'word ' * 60}\nEnd."])
    assert all(len(clause.split()) <= MAX_CLAUSE_WORDS for clause in clauses)
    assert clauses[-1] == "End."


@given(st.lists(st.text(alphabet="ab1.,!? \n", max_size=8), max_size=40))
def test_no_clause_goes_over_a_line_end(pieces: list[str]) -> None:
    clauses = streamed(pieces)
    assert " ".join(clauses).split() == "".join(pieces).split()
    lines = [" ".join(line.split()) for line in "".join(pieces).splitlines()]
    assert all(any(clause in line for line in lines) for clause in clauses)


TABLE: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "sentence_ends.yaml").read_text(encoding="utf-8"))
ROWS = [(code, row) for code, rows in TABLE.items() for row in rows]


def clauses_of(code: str, pieces: list[str]) -> list[str]:
    clauses: list[str] = []
    buffer = ""
    for piece in pieces:
        found, buffer = split_clauses(buffer + piece, first=False, final=False, abbreviations=language(code).abbreviations)
        clauses.extend(found)
    found, _ = split_clauses(buffer, first=False, final=True, abbreviations=language(code).abbreviations)
    return clauses + list(found)


def test_each_language_has_its_table() -> None:
    assert set(TABLE) == {"en", "de", "es", "fr", "it", "nl", "pt"}
    assert all(len(set(rows)) >= 60 for rows in TABLE.values())


@pytest.mark.parametrize(("code", "row"), ROWS)
def test_a_sentence_ends_where_a_reader_would_end_it_wherever_the_text_is_cut(code: str, row: str) -> None:
    expected, text = row.split("|"), row.replace("|", " ")
    assert clauses_of(code, [text]) == expected
    assert clauses_of(code, list(text)) == expected
    assert clauses_of(code, [f"{word} " for word in text.split(" ")]) == expected


@pytest.mark.parametrize(
    "text", ["It is noon.", "Really?", "Stop!", 'He said "yes."', "You can (or must).", "Yes.", "Good night. Bye."]
)
def test_a_plain_end_is_known_without_more_text(text: str) -> None:
    assert ends_plainly(text, language("en").abbreviations)


@pytest.mark.parametrize(
    "text",
    [
        "It costs 3.",
        "Dr.",
        "See No.",
        "J.",
        "at 9 a.m.",
        "Go to www.example.",
        "It is",
        "Well...",
        "Well…",
        'He said "no.',
        "«Oui.",
    ],
)
def test_what_may_go_on_is_no_plain_end(text: str) -> None:
    assert not ends_plainly(text, language("en").abbreviations)


@given(st.text(max_size=60), st.sampled_from(sorted(TABLE)))
def test_no_text_breaks_the_decision_and_no_word_is_lost(text: str, code: str) -> None:
    ends_plainly(text, language(code).abbreviations)
    assert " ".join(clauses_of(code, [text])).split() == text.split()
