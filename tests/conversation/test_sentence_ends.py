"""Where sentences end: a table of each language."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.clauses import ends_plainly, split_clauses
from voiceagent.turn_taking.languages import language

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
