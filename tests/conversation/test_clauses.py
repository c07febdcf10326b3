"""Tokens to speakable pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.clauses import MAX_CLAUSE_WORDS, split_clauses
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
