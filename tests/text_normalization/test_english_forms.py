"""Written forms of English: a table by kind, and what holds for any text."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.text_normalization.numerals import DIGITS
from voiceagent.text_normalization.prose import Prose
from voiceagent.text_normalization.reading import Reading

ENGLISH = Reading()
TABLE: dict[str, dict[str, str]] = yaml.safe_load((Path(__file__).parent / "english_forms.yaml").read_text(encoding="utf-8"))
ROWS = [(written, said) for forms in TABLE.values() for written, said in forms.items()]
WORDS_PER_CLAUSE, MOST_MS_PER_CLAUSE = 24, 5.0


def test_the_table_holds_many_forms_of_each_kind() -> None:
    assert len(ROWS) >= 400
    assert {"addresses", "codes and long numbers", "dates", "letters", "money", "quantities", "times"} <= set(TABLE)


@pytest.mark.parametrize(("written", "said"), ROWS)
def test_a_written_form_is_said_as_a_person_reads_it(written: str, said: str) -> None:
    spoken = ENGLISH.spoken(written)
    assert spoken.said == said
    assert list(spoken.written) == written.split()


@pytest.mark.parametrize(("written", "said"), ROWS)
def test_a_form_is_the_same_in_a_sentence(written: str, said: str) -> None:
    spoken = ENGLISH.spoken(f"so {written}, yes")
    assert list(spoken.written) == f"so {written}, yes".split()
    assert not re.search(r"\d", spoken.said) or re.search(r"\d", said)


LONG = ["4111 1111 1111 1111", "+44 20 7946 0958", "415.555.2671", "123-45-6789", "(415) 555-2671", "48213", "0800 123 456"]


@pytest.mark.parametrize("written", LONG)
def test_no_digit_of_a_long_number_is_lost(written: str) -> None:
    said = re.findall(r"[a-z]+", ENGLISH.spoken(written).said)
    digits = "".join(str(DIGITS.index(word)) for word in said if word in DIGITS)
    assert digits == re.sub(r"\D", "", written)


@given(st.text(alphabet="0123456789 -/.,:$%()'\"x+", max_size=40))
def test_every_number_is_represented(text: str) -> None:
    said = ENGLISH.spoken(text).said
    numbers = [run for run in re.findall(r"\d+", text) if int(run)]
    assert len(re.findall(r"[a-z]+|\d+", said)) >= len(numbers)


@given(st.text(max_size=120))
def test_no_text_breaks_the_reading_and_no_word_is_lost(text: str) -> None:
    spoken = ENGLISH.spoken(text)
    assert list(spoken.written) == text.split()
    assert all(piece.said.split() for piece in spoken.pieces)


@given(st.lists(st.from_regex(r"\A[b-z]{3,9}\Z"), max_size=12))
def test_plain_words_are_said_as_they_are_written(words: list[str]) -> None:
    text = " ".join(words)
    assert ENGLISH.spoken(text).said == text


@given(st.sampled_from(ROWS))
@settings(max_examples=200)
def test_what_is_said_is_said_the_same_again(row: tuple[str, str]) -> None:
    if not re.search(r"\d|[A-Z]{2}|\.", row[1]):
        assert ENGLISH.spoken(row[1].lower()).said == row[1].lower()


HOSTILE = [
    "1" * 20_000,
    "1-" * 9_000,
    "1 " * 9_000,
    "1." * 9_000,
    "a." * 9_000,
    "$1," * 6_000,
    "(1" * 9_000,
    "I" * 20_000,
    "1/2" * 6_000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_read_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    ENGLISH.spoken(text)
    assert time.process_time() - begun < 10


def test_a_clause_is_read_within_its_time() -> None:
    clauses = [" ".join(written for written, _ in ROWS[at : at + 6]).split()[:WORDS_PER_CLAUSE] for at in range(0, len(ROWS), 6)]
    texts = [" ".join(words) for words in clauses]
    begun = time.process_time()
    for text in texts:
        ENGLISH.spoken(text)
    assert (time.process_time() - begun) * 1000 / len(texts) < MOST_MS_PER_CLAUSE


@pytest.mark.parametrize(
    "written", [form for forms in TABLE.values() for form in forms if not form.startswith(("#", ">", "*", "<", "+"))]
)
def test_a_form_comes_whole_through_the_prose_wherever_it_is_cut(written: str) -> None:
    prose = Prose()
    text = f"Well {written} now"
    said = "".join(prose.feed(character) for character in text) + prose.finish()
    assert said.split() == text.split()
