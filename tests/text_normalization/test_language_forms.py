"""Written forms of the languages besides English: a table of each, and what holds for any text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.text_normalization.test_english_forms import HOSTILE, MOST_MS_PER_CLAUSE
from voiceagent.text_normalization.languages import WRITTEN_LANGUAGES
from voiceagent.text_normalization.prose import Prose
from voiceagent.text_normalization.reading import Reading
from voiceagent.text_normalization.spoken_numbers import SpokenNumbers
from voiceagent.turn_taking.languages import LANGUAGES

TABLE: dict[str, dict[str, str]] = yaml.safe_load((Path(__file__).parent / "written_forms.yaml").read_text(encoding="utf-8"))
READINGS = {code: Reading(language=code) for code in WRITTEN_LANGUAGES}
ROWS = [(code, written, said) for code, forms in TABLE.items() for written, said in forms.items()]
CODES = st.sampled_from(sorted(READINGS))


def test_each_language_has_many_forms() -> None:
    assert set(TABLE) == set(READINGS) == set(LANGUAGES) - {"en"}
    assert all(len(forms) >= 60 for forms in TABLE.values())


@pytest.mark.parametrize(("code", "written", "said"), ROWS)
def test_a_written_form_is_said_as_a_person_reads_it(code: str, written: str, said: str) -> None:
    spoken = READINGS[code].spoken(written)
    assert spoken.said == said
    assert list(spoken.written) == written.split()


@pytest.mark.parametrize(("code", "written", "said"), ROWS)
def test_in_a_sentence_no_word_is_lost_and_no_digit_is_left(code: str, written: str, said: str) -> None:
    spoken = READINGS[code].spoken(f"xx {written}, xx")
    assert list(spoken.written) == f"xx {written}, xx".split()
    assert not re.search(r"\d", spoken.said)


@given(CODES, st.text(alphabet="0123456789 -/.,:$%€()'\"xhºª+&½IVe", max_size=40))
def test_every_number_is_represented(code: str, text: str) -> None:
    spoken = READINGS[code].spoken(text)
    assert list(spoken.written) == text.split()
    numbers = [run for run in re.findall(r"\d+", text) if int(run)]
    assert len(re.findall(r"[^\W\d_]+|\d+", spoken.said)) >= len(numbers)


@given(CODES, st.text(max_size=120))
def test_no_text_breaks_the_reading_and_no_word_is_lost(code: str, text: str) -> None:
    spoken = READINGS[code].spoken(text)
    assert list(spoken.written) == text.split()
    assert all(piece.said.split() for piece in spoken.pieces)


@given(CODES, st.lists(st.from_regex(r"\A[b-z]{3,9}\Z"), max_size=12))
def test_plain_words_are_said_as_they_are_written(code: str, words: list[str]) -> None:
    text = " ".join(words)
    assert READINGS[code].spoken(text).said == text


@pytest.mark.parametrize("code", sorted(READINGS))
def test_a_hostile_text_is_read_in_bounded_time(code: str) -> None:
    for text in HOSTILE:
        begun = time.process_time()
        READINGS[code].spoken(text[:6000])
        assert time.process_time() - begun < 10


@pytest.mark.parametrize("code", sorted(READINGS))
def test_a_clause_is_read_within_its_time(code: str) -> None:
    forms = list(TABLE[code])
    texts = [" ".join(forms[at : at + 6]) for at in range(0, len(forms), 6)]
    begun = time.process_time()
    for text in texts:
        READINGS[code].spoken(text)
    assert (time.process_time() - begun) * 1000 / len(texts) < MOST_MS_PER_CLAUSE


@pytest.mark.parametrize(("code", "written", "said"), ROWS)
def test_a_form_comes_whole_through_the_prose_wherever_it_is_cut(code: str, written: str, said: str) -> None:
    prose = Prose()
    text = f"xx {written} xx"
    assert ("".join(prose.feed(character) for character in text) + prose.finish()).split() == text.split()


def test_the_examples_of_the_page_are_true() -> None:
    page = (Path(__file__).parents[2] / "docs/speech.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (German|French|Spanish|Italian|Dutch|Portuguese): (.+?) \| (.+?) \|$", page, re.MULTILINE)
    codes = dict(zip(("German", "French", "Spanish", "Italian", "Dutch", "Portuguese"), TABLE, strict=True))
    assert [language for language, _, _ in rows] == list(codes)
    for language, written, said in rows:
        reads = ", ".join(READINGS[codes[language]].spoken(form).said for form in re.split(", (?!\\d)", written))
        for part in said.split(", …, "):
            assert part in reads


def test_the_setting_leaves_written_forms_to_the_voice_and_what_is_marked_is_spelt_in_the_language() -> None:
    reading = Reading(language="de", written_forms=False)
    assert reading.spoken("Das kostet 12,50 €.").said == "Das kostet 12,50 €."
    assert reading.spoken("Code AB-12.", ("AB-12",)).said == "Code A B, eins zwei."


CLDR: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cldr.yaml").read_text(encoding="utf-8"))
UNLIKE_CLDR = {
    ("de", "ordinal"): r"1000?",  # "hundertste", "tausendste"
    ("de", "ordinal-n"): r"1000?",
    ("fr", "year"): r"1\d{3}",  # "mille neuf cent"; CLDR's "dix-neuf-cent" is rarer
    ("fr", "ordinal"): r"81|101|111",  # CLDR's "quatre-vingt-et-unième" is none
    ("fr", "ordinal-f"): r"81|101|111",
    ("es", "feminine"): r"\d+000|2\d{4}|[29]\d{5}|1100000",  # "veintiuna mil", "doscientas mil": both are right
    ("es", "ordinal"): r"\d?1[1-9]",  # "undécimo", "décimo octavo" as two words
    ("es", "ordinal-f"): r"\d?1[1-9]",
    ("it", "cardinal"): r"(?:21|31)\d{3}",  # "ventunomila": both are right
    ("it", "masculine"): r"\d*[2-9]1|\d+01|21\d{3}",  # "ventuno giorni": both are right
    ("it", "feminine"): r"\d*[2-9]1|\d+01|21\d{3}",
    ("it", "ordinal"): r"101",
    ("it", "ordinal-f"): r"101",
    ("nl", "cardinal"): r"1[1-9]\d\d",  # "twaalfhonderdvijftig"
    ("nl", "year"): r"1[1-9]\d\d|2100",  # CLDR leaves the hundreds out
}
"""Numbers that people say otherwise, or in two ways of which CLDR gives the other."""
OTHER_UNITS = {"it": {"t", "kW", "kHz", "kJ", "%"}, "pt": {"t", "kHz", "bar"}, "nl": {"t", "lb", "oz", "kJ", "Mbit", "Gbit", "°"}}
"""Units with a second name: "tonnellata metrica", "per cento", "kilohertz"."""
MASCULINE = {"de": "Euro", "it": "giorno"}
FEMININE = {"de": "Stunde", "fr": "heure", "it": "settimana"}


def plain(words: str) -> str:
    """The letters: spelling rules differ in hyphens and accents."""
    return re.sub(r"[\s-]", "", words.lower()).replace("é", "e").replace("ë", "e")


@pytest.mark.parametrize(
    ("code", "kind"), [(code, kind) for code in CLDR for kind in CLDR[code] if kind not in ("units", "months")]
)
def test_numbers_are_spelt_as_the_rules_of_unicode_say(code: str, kind: str) -> None:
    language = WRITTEN_LANGUAGES[code]
    if kind == "weekdays":
        assert (list(language.months), list(language.weekdays)) == (CLDR[code]["months"], CLDR[code]["weekdays"])
        return
    numbers = SpokenNumbers(language)
    says: dict[str, Callable[[int], str]] = {
        "cardinal": numbers.cardinal,
        "year": numbers.year,
        "masculine": lambda number: numbers.agreed(numbers.cardinal(number), MASCULINE.get(code, "euro")),
        "feminine": lambda number: numbers.agreed(numbers.cardinal(number), FEMININE.get(code, "hora")),
        "ordinal": numbers.ordinal,
        "ordinal-f": lambda number: numbers.ordinal(number, feminine=True),
        "ordinal-n": lambda number: numbers.ordinal(number, ending="en"),
    }
    unlike = re.compile(UNLIKE_CLDR.get((code, kind), r"(?!)"))
    ours = {number: plain(says[kind](number)) for number in CLDR[code][kind] if not unlike.fullmatch(str(number))}
    assert ours == {number: plain(words) for number, words in CLDR[code][kind].items() if number in ours}


@pytest.mark.parametrize("code", sorted(READINGS))
def test_units_have_the_names_of_unicode(code: str) -> None:
    units = {unit: list(named) for unit, named in WRITTEN_LANGUAGES[code].units.items()}
    theirs = {unit: named for unit, named in CLDR[code]["units"].items() if unit not in OTHER_UNITS.get(code, ())}
    assert len(theirs) >= 40
    assert {unit: [plain(name) for name in units.get(unit, [])] for unit in theirs} == {
        unit: [plain(name) for name in named] for unit, named in theirs.items()
    }
